package postgres_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

// watching is a watch whose polls have times that the test chooses. begin is long ago, so that a writer
// that was first seen then is old now.
type watching struct {
	*postgres.WriterWatch
	t     *testing.T
	conn  *pgx.Conn
	begin time.Time
	out   *bytes.Buffer
}

func watch(t *testing.T, pool *pgxpool.Pool, timeout time.Duration) *watching {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	out := &bytes.Buffer{}
	w := &postgres.WriterWatch{Pool: pool, Timeout: timeout, Log: slog.New(slog.NewJSONHandler(out, nil))}
	return &watching{w, t, conn, time.Now().Add(-24 * time.Hour), out}
}

// line is a line of the log.
type line struct {
	Level, Msg, User, Application, State, Query, Remedy string
	PID                                                 uint32
	Blocked                                             time.Duration
}

// at polls at a time after begin and returns the new lines of the log.
func (w *watching) at(after time.Duration) (lines []line) {
	w.t.Helper()
	w.out.Reset()
	require.NoError(w.t, w.Poll(w.t.Context(), w.conn, w.begin.Add(after)))
	for decoder := json.NewDecoder(w.out); decoder.More(); {
		var l line
		require.NoError(w.t, decoder.Decode(&l))
		lines = append(lines, l)
	}
	return lines
}

// foreign opens a session as psql does, as the owner of the database.
func foreign(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	config.RuntimeParams["application_name"] = "psql"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

const openInsertSQL = `begin; insert into events (stream, version, type, account_id, data, meta, chain)
	values ('test/foreign', 1, 'storetest.noted', '', '{}', '{}', sha256(''))`

// TestAForeignWriterIsReportedAndEnded blocks the readers of the log from a session that is not the
// service's, which idles with an open insert or with the lock of the fence.
func TestAForeignWriterIsReportedAndEnded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ sql, state string }{
		"open insert": {openInsertSQL, "idle in transaction"},
		"fence lock":  {"select pg_advisory_lock_shared(30321::bigint << 48)", "idle"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, url := connect(t)
			store := postgres.New(pool, storetest.Codec())
			w := watch(t, pool, time.Minute)
			require.Empty(t, w.at(0))
			require.NoError(t, w.Ready(t.Context()))

			session := foreign(t, url)
			_, err := session.Exec(t.Context(), test.sql)
			require.NoError(t, err)
			appendOne(t, store, "after", 0)
			require.Empty(t, streams(t, store, 0), "readers wait")

			require.Empty(t, w.at(time.Second), "an append may take a while")
			require.Empty(t, w.at(5*time.Second))
			lines := w.at(6 * time.Second)
			require.Len(t, lines, 1)
			require.Contains(t, lines[0].Query, test.sql[:20])
			require.Contains(t, lines[0].Remedy, fmt.Sprintf("pg_terminate_backend(%d)", session.PgConn().PID()))
			want := line{
				Level: "WARN", Msg: "an open transaction blocks all readers of the log", User: session.Config().User, Application: "psql",
				State: test.state, Query: lines[0].Query, Remedy: lines[0].Remedy, PID: session.PgConn().PID(), Blocked: 5 * time.Second,
			}
			require.Equal(t, want, lines[0])
			require.ErrorContains(t, w.Ready(t.Context()), "blocked the readers")
			blocked, known := w.Blocked()
			require.True(t, known)
			require.Greater(t, blocked, 23*time.Hour)
			old, err := postgres.OldWriters(t.Context(), url)
			require.NoError(t, err)
			require.Len(t, old, 1)
			require.Contains(t, old[0].String(), `application "psql"`)

			require.Empty(t, w.at(60*time.Second), "it is reported once a minute")
			require.NoError(t, session.Ping(t.Context()), "its time is not over")
			lines = w.at(61 * time.Second)
			require.Len(t, lines, 1)
			require.Equal(t, "ended a session, because its open transaction blocked all readers of the log", lines[0].Msg)
			require.Equal(t, session.PgConn().PID(), lines[0].PID)
			_, err = session.WaitForNotification(t.Context()) // returns when the server closes the connection
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg)
			require.Equal(t, "57P01", pg.Code)

			waitGone(t, pool)
			require.Equal(t, []string{"after"}, streams(t, store, 0))
			lines = w.at(62 * time.Second)
			require.Len(t, lines, 1)
			require.Equal(t, "INFO", lines[0].Level)
			require.NoError(t, w.Ready(t.Context()))
			blocked, known = w.Blocked()
			require.True(t, known)
			require.Zero(t, blocked)
		})
	}
}

func TestAWriterIsNeverEndedWithoutATimeout(t *testing.T) {
	t.Parallel()
	pool, url := connect(t)
	w := watch(t, pool, 0)
	session := foreign(t, url)
	_, err := session.Exec(t.Context(), openInsertSQL)
	require.NoError(t, err)
	require.Empty(t, w.at(0))
	for minute := range 3 {
		lines := w.at(time.Hour + time.Duration(minute)*time.Minute)
		require.Len(t, lines, 1, "it is reported again")
		require.Equal(t, "an open transaction blocks all readers of the log", lines[0].Msg)
	}
	_, err = session.Exec(t.Context(), "commit")
	require.NoError(t, err)
}

// TestAWriterThatTheServiceMayNotEnd has a service without the rights of an administrator, beside the
// session of an administrator.
func TestAWriterThatTheServiceMayNotEnd(t *testing.T) {
	t.Parallel()
	_, url := connect(t)
	admin := foreign(t, url)
	database := admin.Config().Database
	login := "login_" + database[len(database)-8:]
	_, err := admin.Exec(t.Context(), "create role "+login+" login password 'secret' in role vqa_service")
	require.NoError(t, err)
	pool, err := postgres.Connect(t.Context(), regexp.MustCompile(`//[^@]*@`).ReplaceAllString(url, "//"+login+":secret@"))
	require.NoError(t, err)
	t.Cleanup(func() {
		pool.Close()
		admin, err := pgx.Connect(context.Background(), url)
		require.NoError(t, err)
		defer func() { _ = admin.Close(context.Background()) }()
		_, err = admin.Exec(context.Background(), "drop role "+login)
		require.NoError(t, err)
	})
	store := postgres.New(pool, storetest.Codec())
	w := watch(t, pool, time.Minute)
	_, err = admin.Exec(t.Context(), openInsertSQL)
	require.NoError(t, err)
	appendOne(t, store, "after", 0)

	require.Empty(t, w.at(0))
	lines := w.at(time.Minute)
	require.Len(t, lines, 1)
	require.Equal(t, "ERROR", lines[0].Level)
	require.Contains(t, lines[0].Msg, "run the remedy as a superuser")
	require.Equal(t, "psql", lines[0].Application)
	require.Empty(t, w.at(time.Minute+time.Second), "not in each poll")
	require.Len(t, w.at(2*time.Minute), 1, "the service tries again")
	require.NoError(t, admin.Ping(t.Context()))
	require.Empty(t, streams(t, store, 0))

	var ended bool
	require.NoError(t, foreign(t, url).QueryRow(t.Context(), lines[0].Remedy).Scan(&ended))
	require.True(t, ended)
	waitGone(t, pool)
	require.Equal(t, []string{"after"}, streams(t, store, 0))
	_ = w.conn.Close(t.Context()) // before its role is dropped
}

// preparedWriterIsReported has a writer without a session. The service does not end it, because its
// program was promised that it can still commit.
func preparedWriterIsReported(t *testing.T, url string) {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	store := postgres.New(pool, storetest.Codec())
	session := foreign(t, url)
	_, err = session.Exec(t.Context(), openInsertSQL+"; prepare transaction 'a''b'")
	require.NoError(t, err)
	appendOne(t, store, "after", 0)
	w := watch(t, pool, time.Minute)
	require.Empty(t, w.at(0))
	lines := w.at(time.Minute)
	require.Len(t, lines, 1)
	require.Equal(t, "rollback prepared 'a''b'", lines[0].Remedy)
	require.Equal(t, session.Config().User, lines[0].User)
	require.Empty(t, streams(t, store, 0))
	_, err = session.Exec(t.Context(), lines[0].Remedy)
	require.NoError(t, err)
	require.Equal(t, []string{"after"}, streams(t, store, 0))
	require.NoError(t, w.conn.Close(t.Context()))
	require.NoError(t, session.Close(t.Context()))
}

// stoppedWriterEnv is the variable that makes this test binary a node that stops between the messages
// of an append.
const stoppedWriterEnv = "VQA_TEST_STOPPED_WRITER_URL"

// TestAStoppedNodeIsEnded stops a node between two messages of an append. No timeout of Postgres 14 to
// 16 covers this: the statement has ended, and the session does not count as idle.
func TestAStoppedNodeIsEnded(t *testing.T) {
	if url := os.Getenv(stoppedWriterEnv); url != "" {
		writeHalf(url)
		return
	}
	t.Parallel()
	pool, url := connect(t)
	store := postgres.New(pool, storetest.Codec())
	node := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	node.Env = append(os.Environ(), stoppedWriterEnv+"="+url)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "written\n", said)
	require.NoError(t, node.Process.Signal(syscall.SIGSTOP))
	defer func() { _ = node.Process.Kill(); _ = node.Wait() }()
	appendOne(t, store, "after", 0)
	require.Empty(t, streams(t, store, 0))

	w := watch(t, pool, time.Minute)
	require.Empty(t, w.at(0))
	lines := w.at(time.Minute)
	require.Len(t, lines, 1)
	require.Equal(t, "active", lines[0].State)
	require.Equal(t, "vqa", lines[0].Application)
	waitGone(t, pool)
	require.Equal(t, []string{"after"}, streams(t, store, 0))
}

// writeHalf sends the insert of a pipeline and not its end.
func writeHalf(url string) {
	ctx := context.Background()
	pool, err := postgres.Connect(ctx, url)
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	pipeline := conn.Conn().PgConn().StartPipeline(ctx)
	pipeline.SendQueryParams(insertSQL, [][]byte{[]byte("test/half"), []byte("1")}, nil, nil, nil)
	pipeline.SendFlushRequest()
	if err := pipeline.Flush(); err != nil {
		fmt.Println(err)
		return
	}
	results, err := pipeline.GetResults()
	if err == nil {
		if reader, ok := results.(*pgconn.ResultReader); ok {
			_, err = reader.Close()
		}
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("written")
	time.Sleep(time.Minute) // it is stopped and killed before
}

// TestRunEndsWriters runs the watch as a node does. It loses its connection before.
func TestRunEndsWriters(t *testing.T) {
	t.Parallel()
	pool, url := connect(t)
	w := &postgres.WriterWatch{Pool: pool, Timeout: time.Second, Log: slog.New(slog.DiscardHandler)}
	_, known := w.Blocked()
	require.False(t, known, "before the first poll")
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	defer running.Wait()
	defer stop()
	require.Eventually(t, func() bool { _, known := w.Blocked(); return known }, 30*time.Second, 5*time.Millisecond)

	session := foreign(t, url)
	_, err := session.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and query like '%events_writers%' and pid <> pg_backend_pid()`)
	require.NoError(t, err)
	_, err = session.Exec(t.Context(), openInsertSQL)
	require.NoError(t, err)
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = session.WaitForNotification(waiting)
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg)
	require.Equal(t, "57P01", pg.Code)
	require.Eventually(t, func() bool { blocked, known := w.Blocked(); return known && blocked == 0 }, 30*time.Second, 5*time.Millisecond)
}
