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

// Options configure a server.
type Options struct {
	// Dir is the folder of the locks, the password and, if Postgres can reach it, the data. It
	// is created when missing. Required.
	Dir string
	// Log receives messages for operators, never a secret. Default: no log.
	Log *slog.Logger
	// BinDir is the folder of initdb, pg_ctl and postgres (VQA_POSTGRES_BIN). Default: search
	// this machine, then download.
	BinDir string
	// Settings are added to postgresql.conf and override those of this package. They take effect
	// when this call starts the server, not when it adopts one.
	Settings map[string]string
	// Ephemeral makes a server for tests. It is not durable. Ten seconds after its last user has
	// ended, it is stopped and its data is deleted. Start refuses a cluster that was created
	// without Ephemeral.
	Ephemeral bool

	reapAfter time.Duration // tests shorten it
}

// Server is one user of a running Postgres. The server runs as long as it has users.
type Server struct {
	cluster  cluster
	bin      binaries
	users    *lock
	port     int
	password string
	adopted  bool // the server was running when Start was called
	settings []map[string]string
	log      *slog.Logger
}

// Start adopts the server that runs in opts.Dir. If there is none, it starts one, and creates the data
// folder if needed. It returns when the server responds to queries. Errors: [ErrNoBinaries], or the
// error of the system with the end of the server's log. Several processes may call it at once.
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
	if err := start.wait(ctx); err != nil {
		return nil, err
	}
	s := &Server{log: opts.Log}
	if opts.Ephemeral {
		s.settings = append(s.settings, ephemeralSettings())
	}
	s.settings = append(s.settings, opts.Settings)
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

// prepare makes the folder and returns its absolute path without symbolic links, so that all processes
// use the same lock files.
func prepare(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("embedded Postgres: no folder given")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the account of Postgres needs access; secret files have mode 0600
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

// bringUp starts or adopts the server and takes the lock of a user. The caller holds the start lock.
func (s *Server) bringUp(ctx context.Context, opts Options) error {
	if err := s.ready(ctx, opts); err != nil {
		return err
	}
	if err := s.adoptOrLaunch(ctx); err != nil {
		return err
	}
	// An exclusive lock is taken only under the start lock, so this must succeed.
	if ok, err := s.users.try(lockShared); err != nil || !ok {
		return errors.Join(errors.New("users.lock is locked by another process"), err)
	}
	if opts.Ephemeral {
		return s.cluster.startReaper(opts.reapAfter)
	}
	return nil
}

// ready finds the binaries and the password. It creates the cluster when there is none.
func (s *Server) ready(ctx context.Context, opts Options) error {
	major, err := s.cluster.major()
	if err != nil {
		return err
	}
	if opts.Ephemeral && major != 0 && !s.cluster.ephemeral() {
		return errors.New("the data folder has a permanent cluster, which cannot be used as an ephemeral one: choose another folder")
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
	opts.Log.Info("creating a Postgres cluster", "release", s.bin.major, "folder", s.cluster.dir)
	return s.cluster.create(ctx, s.bin, s.password, opts.Ephemeral)
}

func (s *Server) adoptOrLaunch(ctx context.Context) error {
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
	// Other users have noted the port. They hold their locks while the server is down.
	only := 0
	if alone, err := s.users.try(lockExclusive); err != nil {
		return err
	} else if !alone {
		only = s.cluster.notedPort()
	}
	if s.port, err = s.cluster.launch(ctx, s.bin, only, s.settings...); err != nil {
		return err
	}
	return s.cluster.ping(ctx, s.URL("postgres"))
}

// URL returns the connection URL of the superuser for a database. It contains the password. Do not log
// it.
func (s *Server) URL(database string) string { return serverURL(s.port, s.password, database) }

// ChecksumsCommand returns the shell command that adds data checksums to the cluster. The server must be
// stopped. The command needs no password.
func (s *Server) ChecksumsCommand() string {
	program := s.bin.path("pg_checksums")
	if _, err := os.Stat(program); err != nil {
		program = "pg_checksums" // downloaded archives lack it
	}
	command := fmt.Sprintf("%s --enable --pgdata=%s", program, s.cluster.data())
	if !s.cluster.id.switched {
		return command
	}
	return fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups %s", s.cluster.id.uid, s.cluster.id.gid, command)
}

// EnsureDatabase creates a database unless it exists. Several processes may call it at once.
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
	// Another process has created it at the same time. The error depends on the timing.
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == "42P04" || pgErr.Code == "23505") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// Close releases the lock of this user. The last user also stops the server. When ctx ends first, the
// server keeps running, and the next Start adopts it. A second Close does nothing.
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
	if err := start.wait(ctx); err != nil {
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
