package embedded

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	superuser     = "vqa"
	initTimeout   = 2 * time.Minute // initdb takes 1 s; slow disks take more
	socketPathMax = 107             // bytes in sockaddr_un without the terminating zero
	socketSuffix  = "/.s.PGSQL.65535.lock"
	markEphemeral = "ephemeral"
	confFile      = "vqa.conf"
)

// systemRoot has the clusters of root when the account of Postgres cannot reach the data folder.
const systemRoot = "/var/lib/vqa"

// cluster is the folder in which Postgres may write, and the account that Postgres runs under.
type cluster struct {
	dir  string // has data, log and run; mode 0700; owned by id
	home string // Options.Dir: locks, password, port; owned by the caller
	id   identity
}

func (c cluster) data() string { return filepath.Join(c.dir, "data") }
func (c cluster) logs() string { return filepath.Join(c.dir, "log") }

// locate returns the cluster of the folder home. The place is decided once. A place outside of home is
// recorded in the file "location". The caller holds the start lock.
func locate(ctx context.Context, home string, log *slog.Logger) (cluster, error) {
	note := filepath.Join(home, "location")
	dir := filepath.Join(home, "cluster")
	if text, err := os.ReadFile(note); err == nil {
		dir = strings.TrimSpace(string(text))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return cluster{}, fmt.Errorf("read location: %w", err)
	}
	id, err := pickIdentity(filepath.Join(dir, "data"))
	if err != nil {
		return cluster{}, err
	}
	if dir == filepath.Join(home, "cluster") && id.switched && !id.reaches(ctx, home) {
		if _, err := os.Stat(dir); err == nil {
			return cluster{}, fmt.Errorf("user %[2]d can no longer reach the cluster in %[1]s: allow access to the folders above it (chmod o+x)", dir, id.uid)
		}
		if dir, err = outside(home); err != nil {
			return cluster{}, err
		}
		if err := os.WriteFile(note, []byte(dir+"\n"), 0o600); err != nil {
			return cluster{}, fmt.Errorf("write location: %w", err)
		}
		log.Warn("the account of Postgres cannot reach the data folder, so the cluster is in another folder", "folder", home, "cluster", dir)
	}
	c := cluster{dir: dir, home: home, id: id}
	for _, sub := range []string{c.dir, c.logs()} {
		if err := id.mkdir(sub); err != nil {
			return cluster{}, err
		}
	}
	return c, nil
}

// outside returns a new folder under systemRoot for the cluster of home. A folder of an earlier home
// with the same path is neither used nor deleted. The user who removed that home wanted a fresh
// start, but may still need the data.
func outside(home string) (string, error) {
	if err := os.MkdirAll(systemRoot, 0o755); err != nil { //nolint:gosec // the account of Postgres needs access
		return "", fmt.Errorf("make %s: %w", systemRoot, err)
	}
	if err := os.Chmod(systemRoot, 0o755); err != nil { //nolint:gosec // the umask may have taken bits away
		return "", fmt.Errorf("set the mode of %s: %w", systemRoot, err)
	}
	sum := sha256.Sum256([]byte(home))
	base := filepath.Join(systemRoot, hex.EncodeToString(sum[:8]))
	for n := 1; ; n++ {
		dir := base
		if n > 1 {
			dir = base + "-" + strconv.Itoa(n)
		}
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make a folder for the cluster: %w", err)
		}
	}
}

// major returns the release that created the data folder, or 0 when there is none yet.
func (c cluster) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(c.data()); err == nil {
			return 0, fmt.Errorf("%s exists but is not a Postgres data folder, because it has no PG_VERSION: move it away", c.data())
		}
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the release of the data folder: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("the data folder %s has an unreadable PG_VERSION: %w", c.data(), err)
	}
	return major, nil
}

// password returns the superuser's password. For a new cluster it generates one.
func (c cluster) password() (string, error) {
	path := filepath.Join(c.home, "password")
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read password: %w", err)
	}
	if _, err := os.Stat(c.data()); err == nil {
		return "", fmt.Errorf("%s is missing but the cluster %s exists: put the file back", path, c.dir)
	}
	secret := rand.Text()
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write password: %w", err)
	}
	return secret, nil
}

// create runs initdb. It works in data.partial and renames it at the end. After an interruption the
// next call deletes data.partial.
func (c cluster) create(ctx context.Context, bin binaries, password string, ephemeral bool) error {
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	partial := c.data() + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("remove an interrupted initdb: %w", err)
	}
	secret := filepath.Join(c.dir, "initdb.password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		return fmt.Errorf("hand over the password: %w", err)
	}
	defer func() { _ = os.Remove(secret) }() // the file "password" has the same secret
	if err := c.id.own(secret); err != nil {
		return err
	}
	args := []string{"--pgdata=" + partial, "--username=" + superuser, "--pwfile=" + secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"}
	if ephemeral {
		args = append(args, "--no-sync")
	} else {
		// Postgres 18 does this by default. Releases 14 to 17 do not.
		args = append(args, "--data-checksums")
	}
	if out, err := c.id.command(ctx, c.dir, bin.path("initdb"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLines(string(out)))
	}
	conf := filepath.Join(partial, "postgresql.conf")
	if err := appendTo(conf, "\ninclude '"+confFile+"'\n"); err != nil {
		return err
	}
	if ephemeral {
		if err := os.WriteFile(filepath.Join(c.dir, markEphemeral), nil, 0o600); err != nil {
			return fmt.Errorf("mark as ephemeral: %w", err)
		}
	}
	if err := os.Rename(partial, c.data()); err != nil {
		return fmt.Errorf("put the data folder in place: %w", err)
	}
	return nil
}

func appendTo(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open settings: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}

// baseSettings returns settings for one machine that Postgres shares with the program.
func baseSettings() map[string]string {
	return map[string]string{ //nolint:gosec // G101 takes password_encryption for a password
		"listen_addresses":          "127.0.0.1",
		"unix_socket_permissions":   "0700",
		"max_connections":           "200",
		"max_locks_per_transaction": "128", // a rebuild locks every read table and its shadow
		"shared_buffers":            "128MB",
		"max_wal_size":              "2GB",
		"synchronous_commit":        "on",
		"password_encryption":       "scram-sha-256",
		"timezone":                  "UTC",
		"log_timezone":              "UTC",
		// The log is bounded: one file for each weekday, overwritten each week.
		"logging_collector":        "on",
		"log_filename":             "postgres-%a.log",
		"log_rotation_age":         "1d",
		"log_rotation_size":        "0",
		"log_truncate_on_rotation": "on",
	}
}

// ephemeralSettings trade durability for speed.
func ephemeralSettings() map[string]string {
	return map[string]string{
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off",
		"max_connections": "400", "shared_buffers": "64MB",
	}
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]*$`)

// configure writes the settings for the next start. Later maps override earlier ones.
func (c cluster) configure(settings ...map[string]string) error {
	merged := map[string]string{}
	for _, m := range settings {
		for name, value := range m {
			if !settingName.MatchString(name) || strings.ContainsAny(value, "\n\r\x00") {
				return fmt.Errorf("the setting %q is not valid: check its name and remove line breaks from its value", name)
			}
			merged[name] = value
		}
	}
	names := make([]string, 0, len(merged))
	for name := range merged {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("# Written at every start; edits are lost.\n")
	for _, name := range names {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(merged[name], "'", "''"))
	}
	path := filepath.Join(c.data(), confFile)
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return c.id.own(path)
}

// socketDir returns the folder for the server's Unix socket. It is inside the cluster when the path
// fits into a socket address, else below the temporary folder.
func (c cluster) socketDir() (string, error) {
	dir := filepath.Join(c.dir, "run")
	if len(dir)+len(socketSuffix) <= socketPathMax {
		return dir, c.id.mkdir(dir)
	}
	sum := sha256.Sum256([]byte(c.dir))
	dir = filepath.Join(os.TempDir(), fmt.Sprintf("vqa-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])))
	if len(dir)+len(socketSuffix) > socketPathMax {
		return "", fmt.Errorf("the path of the temporary folder is too long for a socket: %s", dir)
	}
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", dir)
	}
	if err := c.id.mkdir(dir); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o700) //nolint:gosec // a folder needs its x bit
}
