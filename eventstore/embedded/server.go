package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Options say where a server lives and how it is set up.
type Options struct {
	// Dir holds the locks, the password and, where Postgres can reach it, the
	// data. It is made when missing. Required.
	Dir string
	// Log receives what a person may want to know, never a secret. Default: none.
	Log *slog.Logger
	// BinDir names the folder of initdb, pg_ctl and postgres (VQA_POSTGRES_BIN).
	// Default: a search of this machine, then a download.
	BinDir string
	// Settings are added to postgresql.conf and win over the package's own. They
	// take effect when this call starts the server, not when it adopts one.
	Settings map[string]string
	// Ephemeral makes a server for tests: it is not durable, and ten seconds
	// after the last user ended, in whatever way, it is stopped and its data is
	// deleted. A cluster that was not made so is refused.
	Ephemeral bool

	reapAfter time.Duration // of an ephemeral server; tests shorten it
}

// Server is one user's hold on a running Postgres.
type Server struct {
	cluster  cluster
	bin      binaries
	users    *lock
	port     int
	password string
	adopted  bool
}

// Start adopts the server that runs in opts.Dir, or starts one there, or makes
// one, and returns when it answers queries. It fails with [ErrNoBinaries] when
// the machine has nothing to run it with, else with the reason of the system
// and the end of the server's log. Safe to call from several processes at once.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.reapAfter == 0 {
		opts.reapAfter = reapAfter
	}
	home, err := prepare(opts.Dir)
	if err != nil {
		return nil, err
	}
	start, err := openLock(home, "start.lock")
	if err != nil {
		return nil, err
	}
	defer func() { _ = start.release() }() // the kernel drops the lock in any case
	if err := start.wait(ctx, lockExclusive); err != nil {
		return nil, err
	}
	s := &Server{}
	if s.cluster, err = locate(ctx, home, opts.Log); err != nil {
		return nil, err
	}
	if s.users, err = openLock(home, "users.lock"); err != nil {
		return nil, err
	}
	if err := s.bringUp(ctx, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded Postgres in %s: %w", home, err), s.users.release())
	}
	return s, nil
}

// prepare makes the folder and returns its absolute path without links, so that
// every process means the same locks.
func prepare(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("embedded Postgres: no folder given")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the account of Postgres passes through; what is secret in it is 0600
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	home, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	return home, checkOwner(home)
}

// bringUp makes the server answer and takes a user's hold on it. The caller
// holds the start lock.
func (s *Server) bringUp(ctx context.Context, opts Options) error {
	if err := s.ready(ctx, opts); err != nil {
		return err
	}
	if err := s.adoptOrLaunch(ctx, opts); err != nil {
		return err
	}
	// Nobody holds it exclusively: that is done only under the start lock.
	if ok, err := s.users.try(lockShared); err != nil || !ok {
		return errors.Join(errors.New("the lock of users is taken"), err)
	}
	if opts.Ephemeral {
		return s.cluster.startReaper(opts.reapAfter)
	}
	return nil
}

// ready finds binaries and password, and makes the cluster when there is none.
func (s *Server) ready(ctx context.Context, opts Options) error {
	major, err := s.cluster.major()
	if err != nil {
		return err
	}
	if opts.Ephemeral && major != 0 && !s.cluster.ephemeral() {
		return errors.New("the data folder holds a lasting cluster: it cannot be used as an ephemeral one")
	}
	f := finder{explicit: opts.BinDir, glob: systemGlob, lookPath: exec.LookPath, cacheDir: defaultCacheDir(), log: opts.Log}
	if s.bin, err = f.find(ctx, major); err != nil {
		return err
	}
	if s.password, err = s.cluster.password(); err != nil {
		return err
	}
	if major != 0 {
		return nil
	}
	opts.Log.Info("making a Postgres cluster", "release", s.bin.major, "folder", s.cluster.dir)
	return s.cluster.create(ctx, s.bin, s.password, opts.Ephemeral)
}

func (s *Server) adoptOrLaunch(ctx context.Context, opts Options) error {
	pm, ok, err := s.cluster.running()
	if err != nil {
		return err
	}
	if ok {
		s.port, s.adopted = pm.port, true
		err := s.cluster.ping(ctx, s.URL("postgres"))
		if !errors.Is(err, errGone) {
			return err
		}
	}
	s.adopted = false
	var extra []map[string]string
	if opts.Ephemeral {
		extra = append(extra, ephemeralSettings())
	}
	if s.port, err = s.cluster.launch(ctx, s.bin, append(extra, opts.Settings)...); err != nil {
		return err
	}
	return s.cluster.ping(ctx, s.URL("postgres"))
}

// URL returns the connection URL of the superuser to a database. It holds the
// password: do not log it.
func (s *Server) URL(database string) string { return serverURL(s.port, s.password, database) }

// Adopted reports whether the server ran already when Start was called.
func (s *Server) Adopted() bool { return s.adopted }

// EnsureDatabase creates a database unless it exists. Safe to call from several
// processes at once.
func (s *Server) EnsureDatabase(ctx context.Context, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to create database %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var exists bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize())
	// Two creators at once: the loser sees one of these two, by timing.
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == "42P04" || pgErr.Code == "23505") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// Close gives up this user's hold and, when it was the last, stops the server.
// When ctx ends first the server stays up, and the next Start adopts it.
// A second Close does nothing.
func (s *Server) Close(ctx context.Context) (err error) {
	if s.users == nil {
		return nil
	}
	users := s.users
	s.users = nil
	defer func() { err = errors.Join(err, users.release()) }()
	start, err := openLock(s.cluster.home, "start.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, start.release()) }()
	if err := start.wait(ctx, lockExclusive); err != nil {
		return err
	}
	last, err := users.try(lockExclusive)
	if err != nil || !last {
		return err
	}
	if _, up, err := s.cluster.running(); err != nil || !up {
		return err
	}
	return s.cluster.pgCtl(ctx, s.bin, "stop", stopTimeout)
}
