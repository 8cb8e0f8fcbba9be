package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/eventstore/node"
	"vqa/eventstore/storetest"
	"vqa/gpu"
	"vqa/migrations"
)

func TestDoctorPrintsAndJudges(t *testing.T) {
	t.Parallel()
	good := Check{"first", func(context.Context, *Examination) Finding { return found("all is %s", "well") }}
	odd := Check{"second", func(context.Context, *Examination) Finding {
		return Finding{Verdict: Warning, Detail: "little room", Fix: "make room"}
	}}
	bad := Check{"third", func(context.Context, *Examination) Finding { return wrong("sudo repair", "it is gone") }}

	var out bytes.Buffer
	healthy, err := Report(t.Context(), Installation{}, []Check{good, odd}, &out, false)
	require.NoError(t, err)
	require.True(t, healthy, "a warning is not broken")
	require.Equal(t, "  ok       first        all is well\n  warning  second       little room\n                        fix: make room\n", out.String())

	out.Reset()
	healthy, err = Report(t.Context(), Installation{}, []Check{bad, good}, &out, false)
	require.NoError(t, err)
	require.False(t, healthy)
	require.Contains(t, out.String(), "BROKEN   third        it is gone\n                        fix: sudo repair\n")
	require.Contains(t, out.String(), "first", "the other checks still run")

	out.Reset()
	healthy, err = Report(t.Context(), Installation{}, []Check{bad}, &out, true)
	require.NoError(t, err)
	require.False(t, healthy)
	var report struct {
		Healthy bool      `json:"healthy"`
		Checks  []Finding `json:"checks"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.False(t, report.Healthy)
	require.Equal(t, []Finding{{"third", Broken, "it is gone", "sudo repair"}}, report.Checks)
}

func TestCheckDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(path string) Finding {
		return checkDataFolder(t.Context(), &Examination{Installation: Installation{DataDir: path, Secrets: []string{"secret.key"}}})
	}
	require.Equal(t, OK, at(dir).Verdict)
	require.Contains(t, at(filepath.Join(dir, "a", "b")).Detail, "will be created")
	require.NoDirExists(t, filepath.Join(dir, "a"), "a check creates nothing")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, Broken, at(file).Verdict)

	secret := filepath.Join(dir, "secret.key")
	require.NoError(t, os.WriteFile(secret, nil, 0o644)) // the fault that the check must find
	leak := at(dir)
	require.Equal(t, Broken, leak.Verdict)
	require.Equal(t, "chmod 600 "+secret, leak.Fix)
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	x := &Examination{Installation: Installation{Addr: listener.Addr().String()}}
	taken := checkAddress(t.Context(), x)
	require.Equal(t, Broken, taken.Verdict, "another program listens there")
	require.Contains(t, taken.Fix, "VQA_ADDR=127.0.0.1:")
	require.NoError(t, listener.Close())
	require.Equal(t, OK, checkAddress(t.Context(), x).Verdict)

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status": "ok", "checks": {}}`)
	}))
	defer server.Close()
	x.RunningURL = server.URL
	require.Contains(t, checkAddress(t.Context(), x).Detail, "runs at "+server.URL, "the server of the folder has another address than the settings")
}

func TestCheckPostgresAndClock(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	require.Equal(t, Warning, checkLog(t.Context(), &Examination{}).Verdict, "no database was found")
	x := &Examination{Installation: Installation{DatabaseURL: url, Now: time.Now, InspectLog: func(_ context.Context, inspected string) ([]Finding, error) {
		require.Equal(t, url, inspected)
		return []Finding{{Verdict: Warning, Detail: "odd", Fix: "repair it"}, {Verdict: Broken, Detail: "broken", Fix: "replace it"}}, nil
	}}}
	got := checkPostgres(t.Context(), x)
	require.Equal(t, OK, got.Verdict, got.Detail)
	require.Contains(t, got.Detail, "PostgreSQL ")
	require.NotContains(t, got.Detail, "postgres:postgres@", "no password is shown")
	require.NotNil(t, x.skew)
	require.Equal(t, Warning, checkChecksums(t.Context(), x).Verdict, "a server for tests has no checksums")
	require.Contains(t, checkChecksums(t.Context(), x).Fix, "pg_checksums --enable")
	require.Equal(t, OK, checkClock(t.Context(), x).Verdict)
	require.Equal(t, Finding{Verdict: Broken, Detail: "odd; broken", Fix: "repair it; replace it"}, checkLog(t.Context(), x))

	x.InspectLog = func(context.Context, string) ([]Finding, error) { return nil, &pgconn.PgError{Code: noSuchDatabase} }
	require.Equal(t, OK, checkLog(t.Context(), x).Verdict, "before the first start")
	x.InspectLog = func(context.Context, string) ([]Finding, error) { return nil, errors.New("cut") }
	require.Equal(t, Broken, checkLog(t.Context(), x).Verdict)

	x = &Examination{Installation: Installation{DatabaseURL: "postgres://u:secret@127.0.0.1:" + freePort() + "/d?connect_timeout=2", Now: time.Now}}
	got = checkPostgres(t.Context(), x)
	require.Equal(t, Broken, got.Verdict)
	require.NotContains(t, got.Detail, "secret")
	require.Equal(t, Warning, checkClock(t.Context(), x).Verdict, "nothing to compare with")
	require.Equal(t, Warning, checkChecksums(t.Context(), x).Verdict)
	require.Equal(t, Warning, checkInstallation(t.Context(), x).Verdict)
	require.Equal(t, Warning, checkSubscribers(t.Context(), x).Verdict)
}

func TestCheckSubscribers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		detail, fix string
		err         error
		want        Finding
	}{
		"none":   {"", "", nil, found("no parked events, and no subscriber is late")},
		"parked": {"2 parked events", "retry them", nil, Finding{Verdict: Warning, Detail: "2 parked events", Fix: "retry them"}},
		"error":  {"", "", errors.New("away"), wrong("vqa events subscribers", "away")},
	} {
		x := &Examination{database: &database{url: "here"}, Installation: Installation{
			Subscribers: func(context.Context, string) (string, string, error) { return tt.detail, tt.fix, tt.err },
		}}
		require.Equal(t, tt.want, checkSubscribers(t.Context(), x), name)
	}
}

func TestCheckWitnesses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		all  []Finding
		err  error
		want Finding
	}{
		"none":   {nil, nil, found("no witness is configured (VQA_LEDGER_WITNESSES)")},
		"well":   {[]Finding{found("one cosigns"), found("two cosigns")}, nil, found("one cosigns; two cosigns")},
		"away":   {[]Finding{found("one cosigns"), {Verdict: Warning, Detail: "two is away", Fix: "reach it"}}, nil, Finding{Verdict: Warning, Detail: "one cosigns; two is away", Fix: "reach it"}},
		"forked": {[]Finding{wrong("look", "forked"), {Verdict: Warning, Detail: "two is away", Fix: "reach it"}}, nil, Finding{Verdict: Broken, Detail: "forked; two is away", Fix: "look; reach it"}},
		"error":  {nil, errors.New("away"), wrong("make the place of the checkpoints available (VQA_LEDGER_ANCHOR_URL), then: vqa ledger witnesses", "away")},
	} {
		x := &Examination{Installation: Installation{Witnesses: func(context.Context) ([]Finding, error) { return tt.all, tt.err }}}
		require.Equal(t, tt.want, checkWitnesses(t.Context(), x), name)
	}
}

func TestCheckInstallation(t *testing.T) {
	t.Parallel()
	mismatch := &node.MismatchError{Part: node.SecretKey, Problem: "another key", Remedy: "copy it"}
	tests := map[string]struct {
		complete bool
		err      error
		want     Finding
	}{
		"equal":            {true, nil, found("this node has the secret key and the object store that the database has recorded")},
		"before the start": {false, nil, found("the first start records the secret key and the object store")},
		"no database yet":  {false, &pgconn.PgError{Code: noSuchDatabase}, found("the first start records the secret key and the object store")},
		"another key":      {true, errors.Join(mismatch), wrong("copy it", "another key")},
		"store away":       {false, errors.New("away"), wrong("make the object store and the database available, then: vqa doctor", "away")},
	}
	for name, tt := range tests {
		x := &Examination{database: &database{url: "here"}, Installation: Installation{
			CompareInstallation: func(_ context.Context, url string) (bool, error) {
				require.Equal(t, "here", url)
				return tt.complete, tt.err
			},
		}}
		require.Equal(t, tt.want, checkInstallation(t.Context(), x), name)
	}
	require.Equal(t, OK, checkChecksums(t.Context(), &Examination{database: &database{checksums: true}}).Verdict)
}

func TestJudges(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	released := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	skew := func(d time.Duration) *time.Duration { return &d }
	tests := map[string]struct {
		got  Finding
		want Verdict
	}{
		"ample disk":     {judgeFree("/", 6<<30, 1<<30), OK},
		"little disk":    {judgeFree("/", 2<<30, 1<<30), Warning},
		"full disk":      {judgeFree("/", 1<<20, 1<<30), Broken},
		"sound log":      {worstOf(nil), OK},
		"odd log":        {worstOf([]Finding{{Verdict: Warning, Fix: "fix"}}), Warning},
		"clocks agree":   {judgeClock(now, released, skew(-time.Second)), OK},
		"clocks differ":  {judgeClock(now, released, skew(-time.Minute)), Broken},
		"the past":       {judgeClock(time.Unix(0, 0), released, skew(0)), Broken},
		"node 20.6":      {judgeNode("v20.6.0"), OK},
		"node 22":        {judgeNode("v22.1.0"), OK},
		"node 20.5":      {judgeNode("v20.5.1"), Broken},
		"node 18":        {judgeNode("v18.19.0"), Broken},
		"node nonsense":  {judgeNode("nonsense"), Broken},
		"ball seen":      {detectBall(t.Context(), eye{score: .5}, nil, "fix"), OK},
		"ball not seen":  {detectBall(t.Context(), eye{score: .1}, nil, "fix"), Broken},
		"engine is away": {detectBall(t.Context(), eye{err: errors.New("away")}, nil, "fix"), Broken},
	}
	for name, tt := range tests {
		require.Equal(t, tt.want, tt.got.Verdict, "%s: %s", name, tt.got.Detail)
		require.Equal(t, tt.want == OK, tt.got.Fix == "", "%s: a problem has a fix", name)
	}
}

// eye is an engine that gives the test picture a score.
type eye struct {
	score float64
	err   error
}

func (e eye) Detect(_ context.Context, r gpu.Request) (gpu.Response, error) {
	return gpu.Response{Frames: [][]evidence.Detection{{{Score: e.score}}}, Known: make([]bool, len(r.Terms))}, e.err
}
func (e eye) Ready(context.Context) error { return e.err }
func (e eye) Info(context.Context) (gpu.Info, error) {
	return gpu.Info{Name: "eye", Concurrency: 1}, e.err
}
