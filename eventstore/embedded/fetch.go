package embedded

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/xi2/xz"
)

const (
	archiveHost    = "https://repo1.maven.org/maven2/io/zonky/test/postgres"
	defaultMajor   = 17
	fetchTimeout   = 5 * time.Minute
	archiveLimit   = 64 << 20  // bytes; an archive has 15 MB
	unpackedLimit  = 512 << 20 // bytes; it unpacks to 70 MB
	lockFetch      = "fetch.lock"
	archiveBinPath = "bin"
)

// archive is one release of github.com/zonkyio/embedded-postgres-binaries
// (Apache-2.0), for each architecture with the SHA-256 of its jar.
type archive struct {
	version string
	sha256  map[string]string // by GOARCH
}

// archives has an entry for each supported release. New data folders use defaultMajor.
var archives = map[int]archive{
	15: {"15.19.0", map[string]string{
		"amd64": "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
		"arm64": "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911",
	}},
	16: {"16.15.0", map[string]string{
		"amd64": "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
		"arm64": "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c",
	}},
	17: {"17.11.0", map[string]string{
		"amd64": "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
		"arm64": "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b",
	}},
	18: {"18.4.0", map[string]string{
		"amd64": "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212",
		"arm64": "a9ec284923b9a7d2db41509bfb88c3d0eeb9f4aa5e2b29ea0aac5e8dbaf4c335",
	}},
}

// archiveArch maps GOARCH to the architecture in the archives' names.
var archiveArch = map[string]string{"amd64": "amd64", "arm64": "arm64v8"}

// defaultCacheDir returns the folder for downloaded binaries. For root it is a shared folder, because
// the account of Postgres must reach it.
func defaultCacheDir() string {
	if os.Geteuid() == 0 {
		return "/var/cache/vqa"
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "vqa")
	}
	return filepath.Join(os.TempDir(), "vqa-cache-"+strconv.Itoa(os.Geteuid()))
}

// fetch returns the binaries of a release from the cache. It downloads them first when they are
// missing. major 0 means the default release.
func (f finder) fetch(ctx context.Context, major int) (binaries, error) {
	if major == 0 {
		major = defaultMajor
	}
	a, known := archives[major]
	sum, built := a.sha256[runtime.GOARCH]
	if !known || !built || runtime.GOOS != "linux" {
		return binaries{}, fmt.Errorf("no download of PostgreSQL %d is available for %s/%s", major, runtime.GOOS, runtime.GOARCH)
	}
	if err := errors.Join(os.MkdirAll(f.cacheDir, 0o755), os.Chmod(f.cacheDir, 0o755)); err != nil { //nolint:gosec // programs and no secrets; the account of Postgres must reach them
		return binaries{}, fmt.Errorf("make the cache folder: %w", err)
	}
	if err := checkOwner(f.cacheDir); err != nil {
		return binaries{}, err
	}
	l, err := openLock(f.cacheDir, lockFetch)
	if err != nil {
		return binaries{}, err
	}
	defer func() { _ = l.release() }() // the kernel drops the lock in any case
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if err := l.wait(ctx); err != nil {
		return binaries{}, err
	}
	root := filepath.Join(f.cacheDir, "postgres-"+a.version)
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		url := fmt.Sprintf("%s/embedded-postgres-binaries-linux-%[2]s/%[3]s/embedded-postgres-binaries-linux-%[2]s-%[3]s.jar",
			archiveHost, archiveArch[runtime.GOARCH], a.version)
		f.log.Info("downloading Postgres; this happens once", "version", a.version, "url", url, "folder", root)
		if err := install(ctx, url, sum, root); err != nil {
			return binaries{}, fmt.Errorf("download PostgreSQL %s: %w", a.version, err)
		}
	}
	return inspect(ctx, filepath.Join(root, archiveBinPath))
}

// install downloads a jar, verifies it and unpacks it into root. It unpacks into another folder and
// renames it at the end, so root is never incomplete.
func install(ctx context.Context, url, sum, root string) error {
	jar, err := download(ctx, url)
	if err != nil {
		return err
	}
	if got := sha256.Sum256(jar); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("checksum of %s is %x, expected %s", url, got, sum)
	}
	partial := root + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("remove an interrupted download: %w", err)
	}
	if err := errors.Join(os.Mkdir(partial, 0o755), os.Chmod(partial, 0o755)); err != nil { //nolint:gosec // see fetch
		return fmt.Errorf("make folder: %w", err)
	}
	if err := unpackJar(jar, partial); err != nil {
		return err
	}
	if err := os.Rename(partial, root); err != nil {
		return fmt.Errorf("put the download in place: %w", err)
	}
	return nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read or is not needed
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, archiveLimit))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", url, err)
	}
	return body, nil
}

// unpackJar unpacks the .txz file of the jar.
func unpackJar(jar []byte, dir string) error {
	z, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	for _, file := range z.File {
		if !strings.HasSuffix(file.Name, ".txz") {
			continue
		}
		r, err := file.Open()
		if err != nil {
			return fmt.Errorf("open %s: %w", file.Name, err)
		}
		defer func() { _ = r.Close() }() // reading only
		x, err := xz.NewReader(r, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", file.Name, err)
		}
		return unpackTar(tar.NewReader(io.LimitReader(x, unpackedLimit)), dir)
	}
	return errors.New("the archive has no .txz file")
}

// unpackTar writes folders, files and links. os.Root keeps every path inside dir.
func unpackTar(t *tar.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer func() { _ = root.Close() }() // it has no buffered data
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if err := unpackEntry(root, h, t); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, h *tar.Header, content io.Reader) error {
	name := filepath.Clean(h.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return errors.Join(root.MkdirAll(name, 0o755), root.Chmod(name, 0o755))
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(h.Mode)&0o755) //nolint:gosec // masked to permission bits
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, content); err != nil {
			return errors.Join(err, f.Close())
		}
		// The umask may have removed bits that the account of Postgres needs.
		return errors.Join(f.Chmod(fs.FileMode(h.Mode)&0o755), f.Close()) //nolint:gosec // masked to permission bits
	default:
		return fmt.Errorf("entry of unexpected type %q", h.Typeflag)
	}
}
