package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"vqa/eventstore/embedded"
)

// The parts of a backup, in its folder. The manifest is written last, so a backup without it is incomplete.
const (
	backupDump     = "database.dump"
	backupObjects  = "objects"
	backupManifest = "backup.json"
)

// backupFiles are the files of the data folder that a backup has, if they exist.
var backupFiles = []string{secretKeyFile, oldSecretKeyFile, ledgerKeyFile, "cli-key.json", "cli-uploads.json", "cli-webhook-secret"}

// manifest describes a backup.
type manifest struct {
	// At is when the dump began, on the clock of this machine.
	At time.Time `json:"at"`
	// Postgres is the release of the server.
	Postgres int `json:"postgres"`
	// Objects and Anchors are the places of the objects and checkpoints that the backup does not have.
	Objects string `json:"objects_at,omitempty"`
	Anchors string `json:"anchors_at,omitempty"`
}

func backupCommand() *cobra.Command {
	return strict(&cobra.Command{
		Use:   "backup FOLDER",
		Short: "Copy the database, the objects and the keys into a new folder",
		Long: "Copies the database, the objects and the keys of the installation into a new folder, also while the service runs.\n" +
			"Objects in a bucket and checkpoints at VQA_LEDGER_ANCHOR_URL are only named. The folder has the secret key: keep it\n" +
			"as safe as the data folder. vqa restore puts it back.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := locatedConfig("", cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(c.DataDir, secretKeyFile)); err != nil {
				return fmt.Errorf("no installation in VQA_DATA_DIR: %w", err)
			}
			if err := c.checkData(cmd.ErrOrStderr()); err != nil {
				return err
			}
			a := &app{config: c, log: newLogger(cmd.ErrOrStderr(), c)}
			err = a.findDatabase(cmd.Context())
			if err == nil {
				err = a.backup(cmd.Context(), args[0], cmd.OutOrStdout())
			}
			return errors.Join(err, a.Close())
		},
	}, "FOLDER")
}

// backup makes a backup in a folder that does not exist. The objects are copied before the dump and again
// after it: so the backup has each object that the dump knows, also one that is deleted meanwhile.
func (a *app) backup(ctx context.Context, folder string, out io.Writer) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	m := manifest{Objects: withoutSecrets(a.config.BlobURL), Anchors: withoutSecrets(a.config.LedgerAnchorURL)}
	objects := a.config.objectsFolder()
	if objects != "" {
		m.Objects = ""
		if err := copyTree(ctx, objects, filepath.Join(folder, backupObjects)); err != nil {
			return err
		}
	}
	m.At = machineTime()
	var err error
	if m.Postgres, err = serverRelease(ctx, a.ownerURL); err != nil {
		return err
	}
	dump := filepath.Join(folder, backupDump)
	if err := a.postgresClient(ctx, m.Postgres, "pg_dump", "--format=custom", "--file="+dump); err != nil {
		return err
	}
	if objects != "" {
		if err := copyTree(ctx, objects, filepath.Join(folder, backupObjects)); err != nil {
			return err
		}
	}
	if err := copyFiles(a.config.DataDir, folder); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, backupManifest), append(text, '\n'), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(out, "the backup is in %s: database, keys", folder)
	if objects != "" {
		fmt.Fprint(out, ", objects")
	}
	fmt.Fprintf(out, "\nto restore it: vqa restore %s\n", folder)
	if m.Objects != "" {
		fmt.Fprintf(out, "not included: the objects in %s. Back up the bucket, for example with versions or replication.\n", m.Objects)
	}
	if m.Anchors != "" {
		fmt.Fprintf(out, "not included: the checkpoints of the ledger in %s, which must outlive the database.\n", m.Anchors)
	}
	return nil
}

// withoutSecrets returns a URL without its user and its parameters.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// serverRelease returns the major release of a Postgres server.
func serverRelease(ctx context.Context, databaseURL string) (major int, err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return 0, fmt.Errorf("connecting to the database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	err = conn.QueryRow(ctx, "select current_setting('server_version_num')::int / 10000").Scan(&major)
	return major, err
}

// postgresClient runs a client program of a release on the database.
func (a *app) postgresClient(ctx context.Context, major int, program string, args ...string) error {
	path, err := embedded.Client(ctx, program, a.config.PostgresBin, major)
	if err != nil {
		return err
	}
	database, password, err := withoutPassword(a.ownerURL)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, append(args, "--no-password", "--dbname="+database)...)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// withoutPassword splits the URL of a database. Client programs get the password in the environment, because other
// users of the machine see arguments.
func withoutPassword(raw string) (database, password string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", errors.New("VQA_DATABASE_URL is not a URL") // the URL may have a password: do not print it
	}
	if given, ok := u.User.Password(); ok {
		password, u.User = given, url.User(u.User.Username())
	}
	// libpq and pgx prefer a parameter.
	if q := u.Query(); q.Has("password") {
		password = q.Get("password")
		q.Del("password")
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // libpq reads + as itself
	}
	return u.String(), password, nil
}

// copyFiles copies the files of a data folder that a backup has.
func copyFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // as keyFile
		return err
	}
	for _, name := range backupFiles {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyTree copies a folder. It leaves out files that it copied before, unless they changed, and those that
// are removed meanwhile.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) && path != from {
			return nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if err := copyFile(path, filepath.Join(to, name)); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if before, err := os.Stat(to); err == nil && before.Size() == info.Size() && before.ModTime().Equal(info.ModTime()) {
		return nil
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Sync(), target.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
