package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/media/objects"
)

// signedSlot is how long a resource with signed URLs keeps its tag: a client that is told
// "not modified" has a URL that lives 45 minutes at least.
const signedSlot = 15 * time.Minute

// Caching of what has a tag, and of what has none.
const (
	cachePublic  = "public, max-age=300"
	cachePrivate = "private, no-cache"
	cacheNever   = "no-store"
)

// caching is the Cache-Control of an operation that goes well.
func (op *operation) caching() string {
	switch {
	case !op.conditional:
		return cacheNever
	case op.public:
		return cachePublic
	default:
		return cachePrivate
	}
}

// answerConditional sends a response that was held back: with its tag, or as 304 when the
// client has it already. A handler that set a tag of its own answers conditions by itself.
func (e *edge) answerConditional(x *exchange, r *http.Request, began time.Time) {
	w := x.response
	switch {
	case w.status == http.StatusRequestedRangeNotSatisfiable:
		w.drop()
		f := fault.Invalid(fault.Violation{Param: "Range", Code: fault.Range, Message: "lies outside the file"})
		writeEnvelope(w, http.StatusRequestedRangeNotSatisfiable, f, x.requestID)
		return
	case w.status == http.StatusOK && w.Header().Get("ETag") == "":
		w.Header().Set("ETag", x.tag(w.body, began))
		if matches(r.Header.Values("If-None-Match"), w.Header().Get("ETag")) {
			w.drop()
			w.Header().Del("Content-Length")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if err := w.send(); err != nil {
		e.Log.DebugContext(r.Context(), "response not delivered", "request_id", x.requestID, "error", err.Error())
	}
}

// tag names a response body. Signed URLs differ on every read, so they count by the time
// slot in which they were made, and the tag is a weak one.
func (x *exchange) tag(body []byte, began time.Time) string {
	for _, s := range x.signed {
		for _, v := range []any{s.URL, stamp(s.ExpiresAt)} {
			if written, err := json.Marshal(v); err == nil {
				body = bytes.ReplaceAll(body, written, []byte("null"))
			}
		}
	}
	sum := sha256.Sum256(body)
	name := base64.RawURLEncoding.EncodeToString(sum[:16])
	if len(x.signed) == 0 {
		return `"` + name + `"`
	}
	return `W/"` + name + "-" + strconv.FormatInt(began.Unix()/int64(signedSlot.Seconds()), 36) + `"`
}

// matches reports whether one of the tags in If-None-Match is this one, weakly compared
// (RFC 9110, section 13.1.2). Nonsense matches nothing.
func matches(headers []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// signing notes in the exchange what is signed for its response.
type signing struct{ Objects }

// UploadURL implements Objects.
func (s signing) UploadURL(ctx context.Context, key, contentType string, maxBytes int64, ttl time.Duration) (objects.Signed, error) {
	signed, err := s.Objects.UploadURL(ctx, key, contentType, maxBytes, ttl)
	x := exchangeOf(ctx)
	x.signed = append(x.signed, signed)
	return signed, err
}

// DownloadURL implements Objects.
func (s signing) DownloadURL(ctx context.Context, key, filename, contentType string, ttl time.Duration) (objects.Signed, error) {
	signed, err := s.Objects.DownloadURL(ctx, key, filename, contentType, ttl)
	x := exchangeOf(ctx)
	x.signed = append(x.signed, signed)
	return signed, err
}
