package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/wire"
)

// uploadPace ends an upload that stalls for a minute, or stays below 16 KiB per second
// (0.13 Mbit/s). At that rate, 2 GiB take a day and a half.
var uploadPace = wire.Pace{Patience: 60 * time.Second, Rate: 16 << 10}

// Methods are those that ServeHTTP serves.
var Methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions}

// ServeHTTP serves the signed URLs under Path: PUT stores, GET and HEAD play, OPTIONS answers
// the preflight of a browser. When the bucket is not a folder, only awaited URLs come here. A
// GET of one is redirected to the bucket as soon as the object exists. Failures go to
// Options.WriteError: insufficient_scope (signature), token_expired, resource_not_found,
// resource_conflict (frozen), unsupported_media_type, payload_too_large, video_too_large,
// upload_incomplete and capacity_exhausted (the disk is nearly full).
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setCORS(w.Header())
	w.Header().Set("X-Content-Type-Options", "nosniff")
	var serve func(http.ResponseWriter, *http.Request, grant) error
	switch r.Method {
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodHead:
		serve = s.download
	default:
		serve = s.upload // verify refuses other methods than PUT
	}
	g, err := s.verify(r)
	if err == nil && g.awaited {
		err = s.await(r.Context(), g.key)
	}
	if err == nil && s.dir == "" {
		serve = s.redirect
	}
	if err == nil {
		err = serve(w, r, g)
	}
	if err != nil {
		wire.Refuse(w, r, func() { s.opt.WriteError(w, r, err) })
	}
}

// setCORS allows every origin, because the URL is the credential and cookies are not used.
func setCORS(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", strings.Join(Methods, ", "))
	h.Set("Access-Control-Allow-Headers", "Content-Type, Range, If-Range, If-None-Match, If-Modified-Since")
	h.Set("Access-Control-Expose-Headers", "Accept-Ranges, Content-Length, Content-Range, ETag, X-Request-Id")
	h.Set("Access-Control-Max-Age", "86400")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

func (s *Store) upload(w http.ResponseWriter, r *http.Request, g grant) error {
	if err := checkUploadHeader(r, g); err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.checkOpen(ctx, g.key); err != nil {
		return err
	}
	if err := s.Room(max(r.ContentLength, 0)); err != nil {
		return err
	}
	leave, err := s.enterUpload(g.key)
	if err != nil {
		return err
	}
	defer leave()
	out, err := s.Writer(ctx, g.key, g.contentType, g.maxBytes)
	if err != nil {
		return err
	}
	defer out.Abort()
	body := &clientBody{Reader: s.uploadPace.Body(w, r.Body)}
	if _, err := io.Copy(out, body); err != nil {
		return body.fault(err)
	}
	if out.SizeBytes() == 0 {
		return incomplete("The upload has no bytes.")
	}
	if err := out.Commit(); err != nil {
		return err
	}
	s.opt.Log.InfoContext(ctx, "upload stored", "key", g.key, "size_bytes", out.SizeBytes())
	w.WriteHeader(http.StatusOK)
	return nil
}

// checkUploadHeader checks the headers before a byte of the body is read.
func checkUploadHeader(r *http.Request, g grant) error {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !strings.EqualFold(got, g.contentType) {
		return fault.Newf(fault.UnsupportedMediaType, "Send the upload with Content-Type %s.", g.contentType)
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return fault.New(fault.UnsupportedMediaType, "Send the upload without a Content-Encoding.")
	}
	switch {
	case r.ContentLength > g.maxBytes:
		return tooLarge(r.ContentLength, g.maxBytes)
	case r.ContentLength == 0:
		return incomplete("The upload has no bytes.")
	}
	return nil
}

func incomplete(message string) *fault.Fault { return fault.New(fault.UploadIncomplete, message) }

// clientBody records the error of the client, so that it is not taken for an error of the disk.
type clientBody struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// fault returns upload_incomplete for an error of the client, and err otherwise.
func (b *clientBody) fault(err error) error {
	if b.err == nil {
		return err
	}
	message := "The upload ended before its last byte. Send it again."
	if errors.Is(b.err, wire.ErrSlow) {
		message = "The upload stalled or was slower than 16 KiB per second. Send it again."
	}
	return incomplete(message).WithCause(b.err)
}

func (s *Store) download(w http.ResponseWriter, r *http.Request, g grant) error {
	path, _ := s.LocalPath(g.key)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.ResourceNotFound, "")
	}
	if err != nil {
		return fmt.Errorf("objects: open %s: %w", g.key, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("objects: stat %s: %w", g.key, err)
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.ResourceNotFound, "")
	}
	h := w.Header()
	h.Set("Content-Type", g.contentType)
	h.Set("Content-Disposition", disposition(g.filename))
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	age := int64(g.expiresAt.Sub(s.opt.Now()) / time.Second)
	h.Set("Cache-Control", "private, max-age="+strconv.FormatInt(max(age, 0), 10))
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}
