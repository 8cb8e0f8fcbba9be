package anchor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gocloud.dev/blob/fileblob"
)

// ErrExists says that a file with this name was created before.
var ErrExists = errors.New("the file exists already")

// ErrMissing says that there is no such file.
var ErrMissing = errors.New("the file does not exist")

// callTimeout bounds a call of a store.
const callTimeout = 20 * time.Second

// store is a kind of place.
type store interface {
	create(ctx context.Context, name string, data []byte) error
	put(ctx context.Context, name string, data []byte) error
	read(ctx context.Context, name string) ([]byte, error)
	list(ctx context.Context, folder, after string) ([]string, error)
	remove(ctx context.Context, name string) error
	// sync makes the files durable that were put.
	sync(ctx context.Context) error
	close() error
}

// Options configure a Place.
type Options struct {
	// URL is a file:// or s3:// URL. When it is empty, Dir is used.
	URL string
	// Dir is the folder when URL is empty.
	Dir string
	// LockFor is how long S3 must keep a created object (object lock in compliance mode). 0 means that the
	// bucket's own default applies.
	LockFor time.Duration
	// Now is the clock for LockFor.
	Now func() time.Time
}

// Place keeps files by name. It is safe for concurrent use.
type Place struct{ store store }

// Open opens a place. A folder is made when the first file is written.
func Open(ctx context.Context, opt Options) (*Place, error) {
	dir := opt.Dir
	if opt.URL != "" {
		u, err := url.Parse(opt.URL)
		if err != nil || u.Scheme == "" {
			return nil, errors.New("anchor: the URL cannot be parsed; use file:///FOLDER or s3://BUCKET")
		}
		if u.Scheme != fileblob.Scheme {
			b, err := openBucket(ctx, opt)
			return &Place{b}, err
		}
		if dir = u.Path; u.Host == "." {
			dir = "." + u.Path
		}
	}
	if dir == "" {
		return nil, errors.New("anchor: set a URL or a folder")
	}
	dir, err := filepath.Abs(dir)
	return &Place{folder{dir}}, err
}

// Close releases the connections.
func (p *Place) Close() error { return p.store.close() }

// namePattern allows the names of this package only, so no name leads out of a folder.
var namePattern = regexp.MustCompile(`^[a-z0-9]+(/[a-z0-9]+(\.p)?)*$`)

// do checks the name and limits the time of a call.
func do[T any](ctx context.Context, verb, name string, call func(context.Context) (T, error)) (T, error) {
	if !namePattern.MatchString(name) {
		var none T
		return none, fmt.Errorf("anchor: %.100q cannot be a name", name)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := call(ctx)
	if err != nil {
		return out, fmt.Errorf("anchor: %s %s: %w", verb, name, err)
	}
	return out, nil
}

// Create writes a file that must not exist. Error: ErrExists.
func (p *Place) Create(ctx context.Context, name string, data []byte) error {
	_, err := do(ctx, "create", name, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.store.create(ctx, name, data) })
	return err
}

// Put writes a file, also over an existing one. It is durable after the next Sync.
func (p *Place) Put(ctx context.Context, name string, data []byte) error {
	_, err := do(ctx, "write", name, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.store.put(ctx, name, data) })
	return err
}

// Sync makes the files durable that were put before. After a crash without it, they may be missing or empty.
func (p *Place) Sync(ctx context.Context) error {
	if err := p.store.sync(ctx); err != nil {
		return fmt.Errorf("anchor: make the files durable: %w", err)
	}
	return nil
}

// mostSize bounds the files that are read. A bundle of records has at most 34 kB, and the notes of C2SP a megabyte.
const mostSize = 1 << 20

// readAll reads a file up to mostSize, because somebody else can replace it.
func readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, mostSize+1))
	if err == nil && len(data) > mostSize {
		err = fmt.Errorf("it has more than %d bytes, so the service did not write it", mostSize)
	}
	return data, err
}

// Read returns the oldest version of a file, of at most a megabyte. Error: ErrMissing.
func (p *Place) Read(ctx context.Context, name string) ([]byte, error) {
	return do(ctx, "read", name, func(ctx context.Context) ([]byte, error) { return p.store.read(ctx, name) })
}

// List returns the names directly in a folder that are greater than after, sorted and without the folder.
// A missing folder is empty.
func (p *Place) List(ctx context.Context, folder, after string) ([]string, error) {
	return do(ctx, "list", folder, func(ctx context.Context) ([]string, error) { return p.store.list(ctx, folder, after) })
}

// Remove removes a file that was put. A missing file is not an error.
func (p *Place) Remove(ctx context.Context, name string) error {
	_, err := do(ctx, "remove", name, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.store.remove(ctx, name) })
	return err
}

// key returns the object of a name. All lie under one prefix.
func key(name string) string { return prefix + name }

// prefix is that of all files of the transparency log.
const prefix = "ledger/"

// base returns the part of a key after its folder.
func base(key, folder string) string { return strings.TrimPrefix(key, prefix+folder+"/") }
