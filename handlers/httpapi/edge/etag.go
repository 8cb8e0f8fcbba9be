package edge

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vqa/domain/fault"
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
func (e *Edge) answerConditional(x *Exchange, r *http.Request, began time.Time) {
	w := x.response
	switch {
	case w.status == http.StatusRequestedRangeNotSatisfiable:
		w.drop()
		f := fault.Invalid(fault.Violation{Param: "Range", Code: fault.Range, Message: "lies outside the file"})
		writeEnvelope(w, http.StatusRequestedRangeNotSatisfiable, f, x.RequestID)
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
		e.Log.DebugContext(r.Context(), "response not delivered", "request_id", x.RequestID, "error", err.Error())
	}
}

// tag names a response body. Signed URLs differ on every read, so they count by the time
// slot in which they were made, and the tag is a weak one.
func (x *Exchange) tag(body []byte, began time.Time) string {
	for _, v := range x.signed {
		if written, err := json.Marshal(v); err == nil {
			body = bytes.ReplaceAll(body, written, []byte("null"))
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
