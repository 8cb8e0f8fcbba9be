package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"vqa/domain/fault"
	"vqa/handlers/wire"
)

// SignedURLLife is the life of every signed URL (docs/contract.md#signed-urls).
const SignedURLLife = time.Hour

const (
	uploadPrefix = "uploads/"
	videoPrefix  = "videos/"
	surveyPrefix = "surveys/"
	// artifactPrefix is followed by the id of the video and a slash.
	artifactPrefix = "artifacts/"
	// recordingPrefix is followed by the id of the stream and a slash.
	recordingPrefix = "recordings/"
	closedSuffix    = ".closed"
	tempSuffix      = ".tmp" // the extension that fileblob gives to unfinished files
)

// minSigningKey is the minimum length of the HMAC key in bytes, the size of its hash.
const minSigningKey = 32

// Options configure a Store.
type Options struct {
	// URL is the bucket as a Go CDK URL (file:///path, s3://bucket?region=…). When it is empty,
	// the folder Dir is used.
	URL string
	// Dir is the folder of the objects when URL is empty.
	Dir string
	// Unproven is true for a folder that may be the wrong one. Open then leaves out the mark by which
	// all nodes recognize the folder. InstallationID and SetInstallationID add it when the folder
	// has an id.
	Unproven bool
	// PublicURL is the address under which clients reach this service, without a trailing
	// slash. URLs of a file:// bucket and awaited URLs start with it.
	PublicURL string
	// SigningKey signs URLs of a file:// bucket and awaited URLs. It has at least 32 bytes and
	// is the same in every process that shares the bucket.
	SigningKey []byte
	// Await returns when the object of an awaited URL exists or can no longer appear. It is
	// called only while the object is missing. Its error is the response. With nil, readers do
	// not wait.
	Await func(ctx context.Context, key string) error
	// MinFree is the number of bytes that must stay free on the disk of a folder. Below it,
	// uploads and fetched videos are refused. 0 means no limit.
	MinFree int64
	// Free returns the free bytes of the disk. By default the file system of a folder is asked.
	Free func() (int64, error)
	// Now is the clock for the expiry of URLs.
	Now func() time.Time
	// WriteError writes the error envelope for a failed request to ServeHTTP.
	WriteError func(w http.ResponseWriter, r *http.Request, err error)
	// Log may be nil.
	Log *slog.Logger
}

// Store is an open bucket. It is safe for concurrent use.
type Store struct {
	bucket *blob.Bucket
	// dir is the absolute folder of a file:// bucket, else empty.
	dir string
	opt Options
	// commits orders the commit of an upload with Freeze and Promote, so that a PUT that
	// started before Freeze cannot commit after it.
	commits sync.Mutex
	// uploads limits the PUTs to one URL.
	uploads uploads
	// uploadPace is the variable of that name. A test shortens it.
	uploadPace wire.Pace
	// checkEvery is the constant of that name. A test shortens it.
	checkEvery time.Duration
	// hardLink is os.Link. A test makes it fail.
	hardLink func(oldname, newname string) error
}

// Info describes a stored object.
type Info struct {
	SizeBytes int64
	ModTime   time.Time
	// ETag changes when the bytes of the key are replaced.
	ETag string
}

// UploadKey returns the key for the upload of a video.
func UploadKey(videoID string) string { return uploadPrefix + videoID }

// VideoKey returns the key for the bytes of a ready video.
func VideoKey(videoID string) string { return videoPrefix + videoID }

// KeptKey returns the key for the bytes of an upload with this ETag. Other bytes have another
// key, so a parallel upload cannot replace the bytes that were probed.
func KeptKey(videoID, etag string) string {
	sum := sha256.Sum256([]byte(etag))
	return VideoKey(videoID) + "." + hex.EncodeToString(sum[:8])
}

// SurveyKey returns the key for the survey of a video.
func SurveyKey(videoID string) string { return surveyPrefix + videoID }

// ArtifactKey returns the key for an artifact of a video.
func ArtifactKey(videoID, name string) string { return artifactPrefix + videoID + "/" + name }

// Open opens the bucket and, for a folder, makes it.
func Open(ctx context.Context, opt Options) (*Store, error) {
	if opt.Now == nil {
		return nil, errors.New("objects: set Now")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.PublicURL = strings.TrimRight(opt.PublicURL, "/")
	dir, err := localDir(opt)
	if err != nil {
		return nil, err
	}
	if len(opt.SigningKey) < minSigningKey {
		return nil, fmt.Errorf("objects: the signing key has %d bytes but needs at least %d", len(opt.SigningKey), minSigningKey)
	}
	if opt.WriteError == nil || opt.PublicURL == "" {
		return nil, errors.New("objects: set PublicURL and WriteError, which signed URLs need")
	}
	if dir == "" {
		bucket, err := blob.OpenBucket(ctx, opt.URL)
		if err != nil {
			// The error of the driver repeats the URL, which may have credentials.
			scheme, _, _ := strings.Cut(opt.URL, ":")
			return nil, errors.New("objects: open the bucket: " + strings.ReplaceAll(err.Error(), opt.URL, scheme+"://…"))
		}
		opt.Free = nil
		return &Store{bucket: bucket, opt: opt, checkEvery: checkEvery}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("objects: make the folder: %w", err)
	}
	if !opt.Unproven {
		if err := mark(dir); err != nil {
			return nil, err
		}
	}
	if opt.Free == nil {
		opt.Free = diskFree(dir)
	}
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		NoTempDir:   true, // a rename must not cross file systems
		DirFileMode: 0o700,
		Metadata:    fileblob.MetadataDontWrite, // the signed URL has the content type
	})
	if err != nil {
		return nil, fmt.Errorf("objects: open %s: %w", dir, err)
	}
	return &Store{bucket: bucket, dir: dir, opt: opt, uploadPace: uploadPace, checkEvery: checkEvery, hardLink: os.Link}, nil
}

// localDir returns the absolute folder of a file:// bucket, or "" for any other bucket.
func localDir(opt Options) (string, error) {
	dir := opt.Dir
	if opt.URL != "" {
		u, err := url.Parse(opt.URL)
		if err != nil || u.Scheme == "" {
			return "", errors.New("objects: the bucket URL cannot be parsed")
		}
		if u.Scheme != fileblob.Scheme {
			return "", nil
		}
		if dir = u.Path; u.Host == "." {
			dir = "." + u.Path
		}
	}
	if dir == "" {
		return "", errors.New("objects: set a bucket URL or a folder")
	}
	return filepath.Abs(dir)
}

// Close releases the bucket. It does not wait for requests in ServeHTTP.
func (s *Store) Close() error { return s.bucket.Close() }

// Stat describes the object. It returns resource_not_found for a missing object.
func (s *Store) Stat(ctx context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	a, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return Info{}, s.translate("stat", key, err)
	}
	info := Info{SizeBytes: a.Size, ModTime: a.ModTime, ETag: a.ETag}
	var file os.FileInfo
	if a.As(&file) {
		if st, ok := file.Sys().(*syscall.Stat_t); ok {
			// Two uploads of one size may end in the same tick of the file system's clock.
			info.ETag = fmt.Sprintf("%s-%x", info.ETag, st.Ino)
		}
	}
	return info, nil
}

// Reader reads the object from its start. It returns resource_not_found for a missing object.
func (s *Store) Reader(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, s.translate("read", key, err)
	}
	return r, nil
}

// Delete removes the object. A missing object is not an error.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := s.present(); err != nil {
		return err
	}
	if err := s.bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return diskError("delete", key, err)
	}
	return nil
}

// LocalPath returns the path of the object's file, which may be missing. It returns false when
// the bucket is not a folder.
func (s *Store) LocalPath(key string) (string, bool) {
	if s.dir == "" || checkKey(key) != nil {
		return "", false
	}
	return filepath.Join(s.dir, filepath.FromSlash(key)), true
}

// Source returns the source of the object for ffmpeg: its file, or a signed URL when the bucket
// is not a folder.
func (s *Store) Source(ctx context.Context, key string) (string, error) {
	if path, ok := s.LocalPath(key); ok {
		return path, nil
	}
	signed, err := s.DownloadURL(ctx, key, "", "", SignedURLLife)
	return signed.URL, err
}

// keyPattern excludes the characters that fileblob escapes, so a key and its file have the same
// name. It also excludes every path that leads out of the folder.
var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)*$`)

func checkKey(key string) error {
	if len(key) > 200 || !keyPattern.MatchString(key) ||
		strings.HasSuffix(key, tempSuffix) || strings.HasSuffix(key, ".attrs") {
		return fault.New(fault.ResourceNotFound, "").WithCause(fmt.Errorf("objects: %.200q is not a valid key", key))
	}
	return nil
}

// translate returns resource_not_found for a missing object of a store that works.
func (s *Store) translate(verb, key string, err error) error {
	if gcerrors.Code(err) != gcerrors.NotFound {
		return diskError(verb, key, err)
	}
	if gone := s.present(); gone != nil {
		return gone
	}
	return fault.New(fault.ResourceNotFound, "").WithCause(err)
}
