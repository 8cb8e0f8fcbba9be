package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/embedded"
	"vqa/eventstore/node"
)

// amplyFree is the free space, in bytes, that should remain above VQA_MIN_FREE_SPACE: two of the
// largest videos.
const amplyFree = 4 << 30

// oldestPostgres is the oldest release on which the migrations are tested, as server_version_num.
const oldestPostgres = 140000

// fixNoDatabase is for a check that needs the database.
const fixNoDatabase = "repair Postgres first"

// noSuchDatabase is the code of Postgres for a database that does not exist.
const noSuchDatabase = "3D000"

// mostSkew is the largest harmless difference between two clocks. A larger one breaks signed URLs
// and expiry times.
const mostSkew = 5 * time.Second

// checkDataFolder checks that this user can write to the folder, and that others cannot read its
// secrets.
func checkDataFolder(_ context.Context, x *Examination) Finding {
	info, err := os.Stat(x.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		parent := existing(x.DataDir)
		if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
			return wrong(fmt.Sprintf("set VQA_DATA_DIR to a folder of yours, or: sudo install -d -o %s %s", x.Operator, x.DataDir), "cannot create %s in %s: %v", x.DataDir, parent, err)
		}
		return found("%s will be created at the first start", x.DataDir)
	}
	if err != nil {
		return wrong("VQA_DATA_DIR=SOME_FOLDER vqa doctor", "%v", err)
	}
	if !info.IsDir() {
		return wrong("VQA_DATA_DIR=SOME_FOLDER vqa doctor", "%s is not a folder", x.DataDir)
	}
	probe, err := os.CreateTemp(x.DataDir, "doctor.*")
	if err != nil {
		return wrong(fmt.Sprintf("sudo chown -R %s %s", x.Operator, x.DataDir), "%v", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return wrong("", "%v", err)
	}
	for _, name := range x.Secrets {
		path := filepath.Join(x.DataDir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			return wrong("chmod 600 "+path, "other users can read %s (mode %04o)", path, info.Mode().Perm())
		}
	}
	return found("%s", x.DataDir)
}

// existing is the path itself, or the nearest folder above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// checkDisk checks the free space for the data folder and for the object store.
func checkDisk(_ context.Context, x *Examination) Finding {
	dirs := []string{existing(x.DataDir)}
	if u, err := url.Parse(x.BlobURL); err == nil && u.Scheme == "file" && u.Host == "" {
		dirs = append(dirs, existing(u.Path))
	}
	var worst Finding
	var least int64
	for i, dir := range dirs {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			return wrong("", "%s: %v", dir, err)
		}
		free := int64(st.Bavail) * st.Bsize //nolint:gosec // no disk has 2^63 bytes
		if i == 0 || free < least {
			worst, least = judgeFree(dir, free, x.MinFreeSpace), free
		}
	}
	return worst
}

func judgeFree(dir string, free, minFree int64) Finding {
	fix := fmt.Sprintf("free space on the disk of %s, or set VQA_DATA_DIR to a folder on a larger disk", dir)
	switch {
	case free < minFree:
		return wrong(fix, "%s free at %s: the server refuses uploads below %s (VQA_MIN_FREE_SPACE)", terminal.ByteSize(free), dir, terminal.ByteSize(minFree))
	case free < minFree+amplyFree:
		return Finding{Verdict: Warning, Detail: fmt.Sprintf("%s free at %s; a few large videos fill it", terminal.ByteSize(free), dir), Fix: fix}
	}
	return found("%s free at %s", terminal.ByteSize(free), dir)
}

// checkAddress checks that the service can listen, or that it already runs there.
func checkAddress(ctx context.Context, x *Examination) Finding {
	if x.RunningURL != "" && client.New(x.RunningURL).Healthy(ctx) {
		x.serviceURL = x.RunningURL
		return found("the service of this data folder runs at %s", x.RunningURL)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", x.Addr)
	switch {
	case err == nil:
		if err := listener.Close(); err != nil {
			return wrong("", "%s: %v", x.Addr, err)
		}
		return found("%s is free", x.Addr)
	case errors.Is(err, syscall.EADDRINUSE):
		if at := "http://" + client.Dialable(x.Addr); client.New(at).Healthy(ctx) {
			x.serviceURL = at
			return found("the service runs at %s", x.Addr)
		}
		host, port, _ := net.SplitHostPort(x.Addr) // loading the configuration checks the address
		return wrong(fmt.Sprintf("VQA_ADDR=%s vqa serve (to find the other program: ss -ltnp 'sport = :%s')", net.JoinHostPort(host, freePort()), port),
			"another program listens at %s", x.Addr)
	}
	return wrong("VQA_ADDR=127.0.0.1:"+freePort()+" vqa serve", "%v", err)
}

// freePort is a port of the loopback interface that no program listens on now.
func freePort() string {
	const customary = "8081"
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return customary
	}
	defer func() { _ = listener.Close() }() // there are no connections to lose
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return customary
	}
	return port
}

// embeddedDatabase is the name of the service's database in the embedded server.
const embeddedDatabase = "vqa"

// database is a database that responds.
type database struct {
	// url is that of the service's database. An embedded one may not exist yet.
	url string
	// checksums reports whether Postgres detects damaged pages. addChecksums is the command that adds
	// the checksums while Postgres is stopped.
	checksums    bool
	addChecksums string
}

// checkPostgres connects to the configured database, or starts the embedded one.
func checkPostgres(ctx context.Context, x *Examination) Finding {
	target, place := x.DatabaseURL, terminal.Masked(x.DatabaseURL, true)
	db := &database{url: target, addChecksums: "stop Postgres, then: pg_checksums --enable --pgdata=FOLDER_OF_ITS_DATA"}
	fix := "set VQA_DATABASE_URL to a database that answers, or unset it to use the embedded database"
	if target == "" {
		server, err := embedded.Start(ctx, embedded.Options{Dir: filepath.Join(x.DataDir, "postgres"), BinDir: x.PostgresBin})
		if err != nil {
			return wrong(embeddedFix(err), "%v", err)
		}
		db.url, db.addChecksums = server.URL(embeddedDatabase), "stop the service, then: "+server.ChecksumsCommand()
		x.closeDatabase = func() { _ = server.Close(context.WithoutCancel(ctx)) } // the next start adopts or recovers it
		target, place, fix = server.URL("postgres"), "embedded, in "+x.DataDir, "vqa migrate"
	}
	conn, err := pgx.Connect(ctx, target)
	if err != nil {
		return wrong(fix, "%s: %v", place, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was written
	var version string
	var number int
	var now time.Time
	before := time.Now()
	err = conn.QueryRow(ctx, `select current_setting('server_version'), current_setting('server_version_num')::int, clock_timestamp(),
		current_setting('data_checksums') = 'on'`).Scan(&version, &number, &now, &db.checksums)
	if err != nil {
		return wrong(fix, "%s: %v", place, err)
	}
	skew := now.Sub(before.Add(time.Since(before) / 2))
	x.skew, x.database = &skew, db
	if number < oldestPostgres {
		return wrong("sudo apt-get install -y postgresql", "%s: PostgreSQL %s is older than %d", place, version, oldestPostgres/10000)
	}
	return found("PostgreSQL %s, %s", version, place)
}

// checkChecksums says whether the cluster has data checksums. Without them the service works, but a
// damaged page is found late or never.
func checkChecksums(_ context.Context, x *Examination) Finding {
	switch {
	case x.database == nil:
		return Finding{Verdict: Warning, Detail: "no database to ask", Fix: fixNoDatabase}
	case !x.database.checksums:
		return Finding{Verdict: Warning, Detail: "off: Postgres does not notice when the disk damages a page", Fix: x.database.addChecksums}
	}
	return found("on")
}

// checkInstallation checks that this node has the secret key and the object store of the other nodes.
func checkInstallation(ctx context.Context, x *Examination) Finding {
	if x.database == nil {
		return Finding{Verdict: Warning, Detail: "no database to ask", Fix: fixNoDatabase}
	}
	complete, err := x.CompareInstallation(ctx, x.database.url)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == noSuchDatabase {
		complete, err = false, nil
	}
	var mismatch *node.MismatchError
	switch {
	case errors.As(err, &mismatch):
		return wrong(mismatch.Remedy, "%s", mismatch.Problem)
	case err != nil:
		return wrong("make the object store and the database available, then: vqa doctor", "%v", err)
	case !complete:
		return found("the first start records the secret key and the object store")
	}
	return found("this node has the secret key and the object store that the database has recorded")
}

// worstOf joins findings into one.
func worstOf(all []Finding) Finding {
	worst := Finding{Verdict: OK}
	var details, fixes []string
	for _, f := range all {
		if f.Verdict == Broken || worst.Verdict == OK {
			worst.Verdict = f.Verdict
		}
		details = append(details, f.Detail)
		if f.Fix != "" {
			fixes = append(fixes, f.Fix)
		}
	}
	worst.Detail, worst.Fix = strings.Join(details, "; "), strings.Join(fixes, "; ")
	return worst
}

// checkLog checks that readers of the log cannot skip events, and that no transaction blocks them.
func checkLog(ctx context.Context, x *Examination) Finding {
	if x.database == nil {
		return Finding{Verdict: Warning, Detail: "no database to ask", Fix: fixNoDatabase}
	}
	all, err := x.InspectLog(ctx, x.database.url)
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr) && pgErr.Code == noSuchDatabase:
		return found("the first start creates it")
	case err != nil:
		return wrong("make the database available, then: vqa doctor", "%v", err)
	}
	if len(all) == 0 {
		return found("positions are drawn in order, and no open transaction blocks the readers")
	}
	return worstOf(all)
}

// checkSubscribers checks that the subscribers of the log handle its events.
func checkSubscribers(ctx context.Context, x *Examination) Finding {
	if x.database == nil {
		return Finding{Verdict: Warning, Detail: "no database to ask", Fix: fixNoDatabase}
	}
	detail, fix, err := x.Subscribers(ctx, x.database.url)
	switch {
	case err != nil:
		return wrong("vqa events subscribers", "%v", err)
	case detail != "":
		return Finding{Verdict: Warning, Detail: detail, Fix: fix}
	}
	return found("no parked events, and no subscriber is late")
}

// checkLedger compares the database with the checkpoints outside it.
func checkLedger(ctx context.Context, x *Examination) Finding {
	if x.database == nil {
		return Finding{Verdict: Warning, Detail: "no database to ask", Fix: fixNoDatabase}
	}
	f, err := x.Ledger(ctx, x.database.url)
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr) && pgErr.Code == noSuchDatabase:
		return found("the first start creates it")
	case err != nil:
		return wrong("vqa ledger verify", "%v", err)
	}
	return f
}

// checkAlarms asks the running service for its alarms.
func checkAlarms(ctx context.Context, x *Examination) Finding {
	if x.serviceURL == "" {
		return found("the service does not run, so it raises none")
	}
	names, err := client.New(x.serviceURL).Alarms(ctx)
	if err != nil {
		return Finding{Verdict: Warning, Detail: "the service does not name its alarms: " + err.Error(), Fix: "curl " + x.serviceURL + "/readyz"}
	}
	if len(names) == 0 {
		return found("the service raises none")
	}
	var all []Finding
	for _, name := range names {
		all = append(all, x.Alarm(name))
	}
	return worstOf(all)
}

// checkWitnesses checks that each witness of the ledger cosigns the newest checkpoint.
func checkWitnesses(ctx context.Context, x *Examination) Finding {
	all, err := x.Witnesses(ctx)
	if err != nil {
		return wrong("make the place of the checkpoints available (VQA_LEDGER_ANCHOR_URL), then: vqa ledger witnesses", "%v", err)
	}
	if len(all) == 0 {
		return found("no witness is configured (VQA_LEDGER_WITNESSES)")
	}
	return worstOf(all)
}

func embeddedFix(err error) string {
	if errors.Is(err, embedded.ErrNoBinaries) {
		return "sudo apt-get install -y postgresql"
	}
	return "read the message and the log of the database, in postgres/ of the data folder"
}

func checkClock(_ context.Context, x *Examination) Finding {
	return judgeClock(x.Now(), x.Released, x.skew)
}

func judgeClock(now, released time.Time, skew *time.Duration) Finding {
	const fix = "sudo timedatectl set-ntp true"
	if now.Before(released) {
		return wrong(fix, "the clock shows %s, a time before the release of this program", now.Format(time.RFC3339))
	}
	if skew == nil {
		return Finding{Verdict: Warning, Detail: now.Format(time.RFC3339) + "; no database to compare with"}
	}
	if skew.Abs() > mostSkew {
		return wrong(fix, "the clock of the database differs by %s", skew.Round(time.Millisecond))
	}
	return found("%s, %d ms from the clock of the database", now.Format(time.RFC3339), skew.Abs().Milliseconds())
}
