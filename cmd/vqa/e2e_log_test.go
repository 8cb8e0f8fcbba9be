package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/embedded"
)

// owner connects to the embedded database as its owner, as psql does.
func (s *service) owner(t *testing.T) *pgx.Conn {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(s.dir, "postgres", name))
		require.NoError(t, err)
		return strings.TrimSpace(string(text))
	}
	conn, err := pgx.Connect(t.Context(), "postgres://vqa:"+read("password")+"@127.0.0.1:"+read("port")+"/vqa?application_name=psql")
	require.NoError(t, err)
	return conn
}

// TestAForeignOpenInsert blocks the readers of the log from another program. Requests still work, the
// service says what blocks, and it ends the session. Then it refuses a log without its fence.
func TestAForeignOpenInsert(t *testing.T) {
	t.Parallel()
	s := ownService(t, "VQA_ARTIFACTS=false", "VQA_LOG_WRITER_TIMEOUT=20s")
	c := s.account(t, 100)
	health := &apiClient{service: s}
	require.Equal(t, "ok", health.call(t, http.MethodGet, "/readyz", nil).text("checks.log"))

	session := s.owner(t)
	_, err := session.Exec(t.Context(), `begin; insert into events (stream, version, type, account_id, data, meta, chain)
		values ('video/foreign', 1, 'video.deleted', '', '{}', '{}', sha256(''))`)
	require.NoError(t, err)
	videoID := c.readyVideo(t, clip(t, briefClip))
	require.Empty(t, c.call(t, http.MethodGet, "/v1/events", nil).at("data"), "the feed waits")

	var ready answer
	require.True(t, poll(startTimeout, func() bool {
		ready = health.call(t, http.MethodGet, "/readyz", nil)
		return ready.text("checks.log") != "ok"
	}))
	require.Equal(t, http.StatusOK, ready.status, "the node can still answer")
	require.Equal(t, "degraded", ready.text("checks.log"), "%s", ready.raw)
	report := regexp.MustCompile(`msg="an open transaction blocks all readers of the log" pid=` + strconv.Itoa(int(session.PgConn().PID())) +
		` user=vqa application=psql .* state="idle in transaction" query="begin; insert into events`)
	require.True(t, poll(time.Minute, func() bool { return report.MatchString(s.said.String()) }), "%s", s.said)
	page, err := http.Get("http://" + s.addr + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(page.Body)
	require.NoError(t, err)
	require.NoError(t, page.Body.Close())
	require.Regexp(t, regexp.MustCompile(`(?m)^vqa_log_blocked_seconds [1-9]`), string(text))

	_, err = session.WaitForNotification(t.Context())
	var ended *pgconn.PgError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, "57P01", ended.Code)
	require.True(t, poll(time.Minute, func() bool {
		return c.call(t, http.MethodGet, "/v1/events", nil).text("data.0.data.id") == videoID
	}), "the feed goes on: %s", c.call(t, http.MethodGet, "/v1/events", nil).raw)
	require.True(t, poll(time.Minute, func() bool {
		return health.call(t, http.MethodGet, "/readyz", nil).text("checks.log") == "ok"
	}))

	database, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(s.dir, "postgres")})
	require.NoError(t, err, "it keeps the database when the service ends")
	defer func() { require.NoError(t, database.Close(context.Background())) }()
	session = s.owner(t)
	defer func() { _ = session.Close(context.Background()) }()
	_, err = session.Exec(t.Context(), "alter table events disable trigger events_fence")
	require.NoError(t, err)
	require.NoError(t, s.terminate())
	require.NoError(t, s.launch())
	<-s.exited
	require.NotZero(t, s.cmd.ProcessState.ExitCode())
	remedy := "alter table events enable always trigger events_fence; alter table events enable always trigger events_append_only"
	require.Contains(t, s.said.String(), `the database failed the check "triggers"`)
	require.Contains(t, s.said.String(), remedy)
	s.tool(t, "events", "stats") // a tool still reads the log
	_, err = session.Exec(t.Context(), remedy)
	require.NoError(t, err)
	require.NoError(t, s.start(), "repaired")
}
