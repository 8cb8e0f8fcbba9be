package objects

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gocloud.dev/blob"

	"vqa/domain/fault"
)

// Path is the prefix of the request paths for ServeHTTP.
const Path = "/objects/"

// Signed is a URL that is its own credential until it expires.
type Signed struct {
	Method    string
	URL       string
	Headers   map[string]string // to be sent with the request
	ExpiresAt time.Time
}

// The query of a signed URL. Everything but the signature is signed.
const (
	argExpires   = "expires" // Unix seconds
	argType      = "type"
	argMaxBytes  = "max_bytes"
	argFilename  = "filename"
	argAwaited   = "awaited" // any value: the object may not exist yet
	argSignature = "signature"
)

// UploadURL returns a signed PUT of at most maxBytes to key, valid for ttl
// (docs/contract.md#create-video).
func (s *Store) UploadURL(ctx context.Context, key, contentType string, maxBytes int64, ttl time.Duration) (Signed, error) {
	if err := checkKey(key); err != nil {
		return Signed{}, err
	}
	out := Signed{
		Method:  http.MethodPut,
		Headers: map[string]string{"Content-Type": contentType},
	}
	if s.dir == "" {
		return s.presign(ctx, out, key, ttl, signPut(contentType))
	}
	args := url.Values{argType: {contentType}, argMaxBytes: {strconv.FormatInt(maxBytes, 10)}}
	return s.sign(out, key, ttl, args), nil
}

// DownloadURL returns a URL that plays the object, valid for ttl (docs/contract.md#signed-urls).
// A browser saves it under filename, which may be empty.
func (s *Store) DownloadURL(ctx context.Context, key, filename, contentType string, ttl time.Duration) (Signed, error) {
	if err := checkKey(key); err != nil {
		return Signed{}, err
	}
	out := Signed{Method: http.MethodGet, Headers: map[string]string{}}
	if s.dir == "" {
		return s.presign(ctx, out, key, ttl, signGet(filename, contentType))
	}
	args := url.Values{argType: {contentType}}
	if name := safeFilename(filename); name != "" {
		args.Set(argFilename, name)
	}
	return s.sign(out, key, ttl, args), nil
}

// AwaitedURL returns a URL like that of DownloadURL for an object that may not exist yet. It is
// always a URL of this service, which waits for the object (Options.Await).
func (s *Store) AwaitedURL(key, filename, contentType string, ttl time.Duration) (Signed, error) {
	if err := checkKey(key); err != nil {
		return Signed{}, err
	}
	args := url.Values{argType: {contentType}, argAwaited: {"1"}}
	if name := safeFilename(filename); name != "" {
		args.Set(argFilename, name)
	}
	return s.sign(Signed{Method: http.MethodGet, Headers: map[string]string{}}, key, ttl, args), nil
}

func (s *Store) presign(ctx context.Context, out Signed, key string, ttl time.Duration, hook func(func(any) bool) error) (Signed, error) {
	out.ExpiresAt = s.opt.Now().Add(ttl).UTC().Truncate(time.Second)
	var err error
	if out.URL, err = s.bucket.SignedURL(ctx, key, &blob.SignedURLOptions{Method: out.Method, Expiry: ttl, BeforeSign: hook}); err != nil {
		return Signed{}, fmt.Errorf("objects: sign a URL of %s: %w", key, err)
	}
	return out, nil
}

func (s *Store) sign(out Signed, key string, ttl time.Duration, args url.Values) Signed {
	out.ExpiresAt = s.opt.Now().Add(ttl).UTC().Truncate(time.Second)
	args.Set(argExpires, strconv.FormatInt(out.ExpiresAt.Unix(), 10))
	args.Set(argSignature, base64.RawURLEncoding.EncodeToString(s.mac(out.Method, key, args)))
	out.URL = s.opt.PublicURL + Path + key + "?" + args.Encode()
	return out
}

// mac covers the method, the key and every argument, in the canonical order and spelling of
// url.Values.Encode. No argument can be added or repeated without changing it.
func (s *Store) mac(method, key string, args url.Values) []byte {
	h := hmac.New(sha256.New, s.opt.SigningKey)
	// Line feeds separate the parts: a method and a key have none, and Encode escapes them.
	_, _ = fmt.Fprintf(h, "vqa object url 1\n%s\n%s\n%s", method, key, args.Encode())
	return h.Sum(nil)
}

// grant holds the permissions of a verified URL.
type grant struct {
	key         string
	contentType string
	maxBytes    int64
	filename    string
	expiresAt   time.Time
	// awaited says that the object may not exist yet.
	awaited bool
}

// verify checks the signature before it uses anything that the signature covers. The URL of a
// GET allows HEAD too.
func (s *Store) verify(r *http.Request) (grant, error) {
	refused := fault.New(fault.InsufficientScope, "The signature of this URL does not allow this request. Use the URL exactly as you received it.")
	key, ok := strings.CutPrefix(r.URL.Path, Path)
	args, err := url.ParseQuery(r.URL.RawQuery)
	if !ok || err != nil || checkKey(key) != nil {
		return grant{}, refused
	}
	got, err := base64.RawURLEncoding.DecodeString(args.Get(argSignature))
	args.Del(argSignature)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if err != nil || !hmac.Equal(got, s.mac(method, key, args)) {
		return grant{}, refused
	}
	expires, err := strconv.ParseInt(args.Get(argExpires), 10, 64)
	if err != nil {
		return grant{}, refused
	}
	g := grant{key: key, contentType: args.Get(argType), filename: args.Get(argFilename), expiresAt: time.Unix(expires, 0)}
	g.awaited = args.Has(argAwaited)
	if !s.opt.Now().Before(g.expiresAt) {
		return grant{}, fault.New(fault.TokenExpired, "This signed URL has expired. Read the resource again for a fresh one.")
	}
	if method == http.MethodPut {
		if g.maxBytes, err = strconv.ParseInt(args.Get(argMaxBytes), 10, 64); err != nil {
			return grant{}, refused
		}
	}
	return g, nil
}

// disposition makes a browser play the object in place and save it under a name.
func disposition(filename string) string {
	name := safeFilename(filename)
	if name == "" {
		return "inline"
	}
	return mime.FormatMediaType("inline", map[string]string{"filename": name})
}

// maxFilename bounds the name in a URL and a header (docs/contract.md#create-video).
const maxFilename = 255

// safeFilename removes folders, control characters, invisible characters, and the characters
// that are syntax in a header or a shell.
func safeFilename(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar || strings.ContainsRune(`"<>|:*?;%/`, r) {
			return -1
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > maxFilename {
		name = string(runes[:maxFilename])
	}
	return name
}
