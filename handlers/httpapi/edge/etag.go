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

// signedSlot is how long a resource with signed URLs keeps its tag. A signed URL lives one
// hour, so a URL that a client keeps after 304 is valid for at least 45 minutes.
const signedSlot = 15 * time.Minute

// The values of Cache-Control for responses with and without an ETag.
const (
	cachePublic  = "public, max-age=300"
	cachePrivate = "private, no-cache"
	cacheNever   = "no-store"
)

// caching returns the Cache-Control of a successful response.
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

// answerConditional sends a response that was buffered: with its ETag, or as 304 if the
// client has it already. A handler that sets an ETag handles If-None-Match itself.
func (e *Edge) answerConditional(x *Exchange, r *http.Request, began time.Time) {
	w := x.response
	switch {
	case w.status == http.StatusRequestedRangeNotSatisfiable:
		w.drop()
		f := fault.Invalid(fault.Violation{Param: "Range", Code: fault.Range, Message: "is outside the file"})
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
		e.Log.DebugContext(r.Context(), "cannot send the response", "request_id", x.RequestID, "error", err.Error())
	}
}

// tag returns the ETag of a response body. Signed URLs differ on every read. The tag
// contains the time slot instead of them, and is a weak tag.
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

// matches reports whether If-None-Match contains a tag, by weak comparison (RFC 9110,
// section 13.1.2). A malformed header matches nothing.
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
