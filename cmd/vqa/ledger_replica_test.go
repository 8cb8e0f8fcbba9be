package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/embedded"
)

// replayPatience bounds the time that a replica needs to replay a few kilobytes.
const replayPatience = 30 * time.Second

// TestVerifyOnAReplica verifies a streaming replica as a member of vqa_auditor: when it has everything, when it
// has not replayed the newest events, and after a row was changed on the primary.
func TestVerifyOnAReplica(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t)
	service, err := newService("VQA_DATABASE_URL="+primary.url("postgres"), embeddedWorker) // no worker
	require.NoError(t, err)
	var key struct {
		AccountID string `json:"account_id"`
	}
	for range 3 {
		require.NoError(t, json.Unmarshal(service.tool(t, "keys", "create", "--mode", "live", "--grant-seconds", "600", "--json"), &key))
	}
	buy := func(idempotencyKey string) {
		t.Helper()
		service.tool(t, "credits", "purchase", key.AccountID, "5", "--reason", "invoice", "--idempotency-key", idempotencyKey)
	}
	first := service.seal(t)
	buy("k1")
	second := service.seal(t)
	primary.exec(t, "create role auditor login password 'only reads' in role vqa_auditor")

	replica := primary.replicate(t)
	auditor, err := newService("VQA_DATABASE_URL="+replica.urlOf("auditor", "only reads"), embeddedWorker)
	require.NoError(t, err)
	auditor.env = append(auditor.env, "VQA_DATA_DIR="+service.dir)
	keyless, err := newService("VQA_DATABASE_URL="+replica.urlOf("auditor", "only reads"), embeddedWorker,
		"VQA_BLOB_URL=file://"+filepath.Join(service.dir, "objects"))
	require.NoError(t, err)
	before := tree(t, service.dir)
	end := primary.number(t, "select max(position) from events")

	out := string(auditor.tool(t, "ledger", "verify", "--all-streams"))
	require.Contains(t, out, "no mismatch")
	require.Contains(t, out, fmt.Sprintf("the log ends at position %d; MACs: checked", end))
	out = string(keyless.tool(t, "ledger", "verify", "--all-streams"))
	require.Contains(t, out, "no mismatch")
	require.Contains(t, out, "not checked, because this program has no key")
	for _, kept := range []checkpoint{first, second} {
		out = string(keyless.tool(t, "ledger", "verify", "--against", kept.path))
		require.Contains(t, out, fmt.Sprintf("correct: the database contains all %d leaves", kept.size))
	}

	// The primary goes on, and the replica does not.
	replica.exec(t, "select pg_wal_replay_pause()")
	require.True(t, poll(replayPatience, func() bool {
		return replica.number(t, "select (pg_get_wal_replay_pause_state() = 'paused')::int") == 1
	}))
	buy("k2")
	third := service.seal(t)
	before = before.with(t, service.dir) // the new checkpoint
	next := primary.number(t, "select min(position) from events where position > $1", end)
	out, err = auditor.output(t, "ledger", "verify")
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, out)
	require.Equal(t, 3, ended.ExitCode(), out)
	behind := fmt.Sprintf("position %d, stream credit/%s, version 3: this replica has only the first %d of the %d leaves of the checkpoint, without a difference",
		next, key.AccountID, replica.number(t, "select count(*) from events"), third.size)
	require.Contains(t, out, "DID NOT COMPARE the database with the checkpoints outside it: "+behind)
	require.Contains(t, out, fmt.Sprintf("the log ends at position %d; MACs: checked", end), "it says up to where")
	out = string(auditor.tool(t, "ledger", "verify", "--against", second.path))
	require.Contains(t, out, "correct: the database contains all")
	out, err = auditor.output(t, "ledger", "verify", "--against", third.path)
	require.Error(t, err, "the past is not proven: %s", out)
	require.Contains(t, out, "BEHIND: "+behind)
	require.NotContains(t, out, "WRONG:")
	require.NotContains(t, out, " removed")

	replica.exec(t, "select pg_wal_replay_resume()")
	replica.catchUp(t, primary)
	require.Contains(t, string(auditor.tool(t, "ledger", "verify", "--against", third.path)), fmt.Sprintf("contains all %d leaves", third.size))
	require.Equal(t, before, tree(t, service.dir), "an audit writes nothing")
	require.Empty(t, tree(t, keyless.dir), "an audit makes no key")

	// The owner of the primary changes a row, and then also removes the newest ones.
	primary.exec(t, "alter table events disable trigger events_append_only")
	changed := primary.number(t, "update events set chain = sha256(chain) where stream = $1 and version = 1 returning position", "credit/"+key.AccountID)
	replica.catchUp(t, primary)
	named := fmt.Sprintf("osition %d, stream credit/%s, version 1: ", changed, key.AccountID)
	out, err = auditor.output(t, "ledger", "verify", "--all-streams")
	require.Error(t, err, out)
	require.Regexp(t, fmt.Sprintf(`%s +forged +credit/%s +1 +%d `, key.AccountID, key.AccountID, changed), out)
	out, err = auditor.output(t, "ledger", "verify", "--against", first.path)
	require.Error(t, err, out)
	require.Contains(t, out, "WRONG: p"+named)
	require.Contains(t, out, "the first difference: ")
	primary.exec(t, "delete from events where position >= $1", next)
	replica.catchUp(t, primary)
	out, err = auditor.output(t, "ledger", "verify", "--against", third.path)
	require.Error(t, err, out)
	require.Contains(t, out, "WRONG: p"+named, "a replica that is behind does not hide a changed row")
	require.NotContains(t, out, "BEHIND:")

	require.Empty(t, replica.errors(t), "no statement of an audit was refused")
}

// checkpoint is a signed checkpoint in a file.
type checkpoint struct {
	path string
	size int64
}

// seal signs a checkpoint and returns it.
func (s *service) seal(t *testing.T) checkpoint {
	t.Helper()
	var c struct {
		Size int64 `json:"size"`
	}
	require.NoError(t, json.Unmarshal(s.tool(t, "ledger", "checkpoint", "--json"), &c))
	path := filepath.Join(s.dir, "objects", "ledger", "checkpoints", "0001", fmt.Sprintf("%020d", c.Size))
	require.FileExists(t, path)
	return checkpoint{path, c.Size}
}

// contents has the content of each file of a folder.
type contents map[string]string

func tree(t *testing.T, dir string) contents {
	t.Helper()
	return contents{}.with(t, dir)
}

// with adds the files that a folder has now.
func (c contents) with(t *testing.T, dir string) contents {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		c[path] = string(text)
		return err
	}))
	return c
}

// database is a Postgres server of one test.
type database struct {
	server *embedded.Server
	owner  *pgx.Conn
	// data is the folder of the cluster's data.
	data string
}

// startDatabase starts the server of a folder and stops it at the end of the test.
func startDatabase(t *testing.T, dir string) *database {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Options{
		Dir: dir, BinDir: os.Getenv("VQA_POSTGRES_BIN"), Ephemeral: true,
		Settings: map[string]string{"shared_buffers": "16MB", "synchronous_commit": "on"}, // catchUp needs all commits in the WAL
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	d := &database{server: server}
	d.owner, err = pgx.Connect(t.Context(), d.url("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.owner.Close(context.Background()) })
	require.NoError(t, d.owner.QueryRow(t.Context(), "show data_directory").Scan(&d.data))
	return d
}

// newPrimary starts a server with an empty database.
func newPrimary(t *testing.T) *database {
	t.Helper()
	dir, err := os.MkdirTemp(workshop, "primary-") //nolint:usetesting // Postgres, another user, must be able to enter the folder
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	return startDatabase(t, dir)
}

// replicate copies a server and starts the copy as its streaming replica. The copy is in the form of package
// embedded, which runs it under the same account, and ends it when the test dies.
func (d *database) replicate(t *testing.T) *database {
	t.Helper()
	var programs string
	require.NoError(t, d.owner.QueryRow(t.Context(), "select setting from pg_config where name = 'BINDIR'").Scan(&programs))
	program := filepath.Join(programs, "pg_basebackup")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is missing, so no replica can be made: install the package of the Postgres server", program)
	}
	info, err := os.Stat(d.data)
	require.NoError(t, err)
	account := info.Sys().(*syscall.Stat_t)
	cluster := filepath.Dir(d.data) + "-replica"
	require.NoError(t, os.Mkdir(cluster, 0o700))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(cluster)) })
	require.NoError(t, os.Chown(cluster, int(account.Uid), int(account.Gid)))
	cmd := exec.CommandContext(t.Context(), program, "--pgdata="+filepath.Join(cluster, "data"), "--dbname="+d.url(""),
		"--checkpoint=fast", "--write-recovery-conf", "--wal-method=stream", "--no-sync")
	cmd.Dir = cluster
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account.Uid, Gid: account.Gid}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	dir, err := os.MkdirTemp(workshop, "replica-") //nolint:usetesting // Postgres, another user, must be able to enter the folder
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	password, _ := d.parsed().User.Password()
	for path, text := range map[string]string{
		filepath.Join(cluster, "ephemeral"): "",
		filepath.Join(dir, "location"):      cluster + "\n",
		filepath.Join(dir, "password"):      password + "\n",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	replica := startDatabase(t, dir)
	require.Equal(t, int64(1), replica.number(t, "select pg_is_in_recovery()::int"))
	replica.catchUp(t, d)
	return replica
}

// url returns the URL of the owner.
func (d *database) url(name string) string { return d.server.URL(name) }

func (d *database) parsed() *url.URL {
	u, err := url.Parse(d.url("postgres"))
	if err != nil {
		panic(err) // the server has just been reached with it
	}
	return u
}

// urlOf returns the URL of another user.
func (d *database) urlOf(user, password string) string {
	u := d.parsed()
	u.User = url.UserPassword(user, password)
	return u.String()
}

func (d *database) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := d.owner.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

func (d *database) number(t *testing.T, sql string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, d.owner.QueryRow(t.Context(), sql, args...).Scan(&n), sql)
	return n
}

// catchUp waits until a replica has replayed all that its primary has committed.
func (d *database) catchUp(t *testing.T, primary *database) {
	t.Helper()
	at := primary.number(t, "select pg_current_wal_flush_lsn() - '0/0'")
	require.True(t, poll(replayPatience, func() bool {
		return d.number(t, "select pg_last_wal_replay_lsn() - '0/0'") >= at
	}), "the replica does not replay")
}

// errors returns the lines with errors of the server's log.
func (d *database) errors(t *testing.T) (lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(d.data), "log", "postgres-*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " ERROR: ") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
