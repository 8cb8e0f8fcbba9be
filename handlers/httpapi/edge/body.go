package edge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/handlers/wire"
)

// maxBody bounds a JSON body, in bytes.
const maxBody = 1 << 20

const (
	// maxViolations bounds the violations of one error. The others are counted.
	maxViolations = 100
	// maxParam is the longest path of a violation, in bytes.
	maxParam = 200
)

// maxMultipart is the size above which a multipart body is told to be uploaded by a
// presigned URL instead (api-v1.md, "Limits"), in bytes.
const maxMultipart = 100 << 20

// receive reads the body of a request whole. Errors: payload_too_large,
// unsupported_media_type, validation_failed for a body that did not arrive.
func (op *operation) receive(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodOptions {
		return nil, nil
	}
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := parameters["charset"]
	isJSON := err == nil && mediaType == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
	if strings.HasPrefix(mediaType, "multipart/") && op.body != nil {
		if r.ContentLength > maxMultipart {
			return nil, fault.Newf(fault.PayloadTooLarge, "The body is larger than %d bytes; register the video and upload it to its presigned URL.", maxMultipart)
		}
		return nil, fault.New(fault.UnsupportedMediaType, "The content type must be application/json; files go to presigned URLs.")
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case err != nil && !errors.As(err, &tooLarge):
		return nil, brokenBody(w, err)
	case op.body == nil:
		// Whatever it is, parseBody refuses more than nothing.
		return raw, nil
	case len(raw) > 0 && !isJSON:
		return nil, fault.New(fault.UnsupportedMediaType, "The content type must be application/json.")
	case errors.As(err, &tooLarge):
		return nil, fault.Newf(fault.PayloadTooLarge, "The request body is larger than %d bytes.", maxBody)
	}
	return raw, nil
}

// brokenBody answers a body that did not arrive. The connection is closed: the rest of the
// body may still come.
func brokenBody(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close")
	message := "The body ended too early."
	if errors.Is(err, wire.ErrSlow) {
		message = "The body did not arrive in time. Send it without pauses, within 30 seconds."
	}
	return fault.Invalid(fault.Violation{Code: fault.Format, Message: message}).WithCause(err)
}

// setBody puts a checked body in the place of the one that was read.
func setBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}

// verdict gathers what is wrong with a request. What the parser keeps of a body is
// bounded, and so are the violations.
type verdict struct {
	violations []fault.Violation
	// omitted counts violations that were found and not kept.
	omitted int
	// named is the first violation that has a code of its own in the contract.
	named *fault.Fault
}

func (v *verdict) add(param string, code fault.ViolationCode, message string) {
	v.violations = append(v.violations, fault.Violation{Param: shortened(param), Code: code, Message: message})
}

// shortened returns a path of at most maxParam bytes: a longer one loses its middle, for
// which "…" stands.
func shortened(param string) string {
	if len(param) <= maxParam {
		return param
	}
	const half = (maxParam - len("…")) / 2
	head, tail := half, len(param)-half
	for !utf8.RuneStart(param[head]) {
		head--
	}
	for !utf8.RuneStart(param[tail]) {
		tail++
	}
	return param[:head] + "…" + param[tail:]
}

// name gives the answer a code of its own.
func (v *verdict) name(f *fault.Fault) {
	if v.named == nil {
		v.named = f
	}
}

// has reports whether a field or something within it is wrong.
func (v *verdict) has(param string) bool {
	return slices.ContainsFunc(v.violations, func(o fault.Violation) bool {
		return o.Param == param || strings.HasPrefix(o.Param, param+".")
	})
}

// err is the answer: nil, the named fault or validation_failed, with at most
// maxViolations violations in the order of their places.
func (v *verdict) err() error {
	slices.SortStableFunc(v.violations, func(a, b fault.Violation) int {
		return cmp.Or(strings.Compare(a.Param, b.Param), strings.Compare(string(a.Code), string(b.Code)))
	})
	if len(v.violations) == 0 && v.named == nil {
		return nil
	}
	kept := v.violations[:min(len(v.violations), maxViolations)]
	f := v.named
	if f == nil {
		f = fault.Invalid(kept...)
	}
	f.Violations, f.OmittedViolations = kept, v.omitted+len(v.violations)-len(kept)
	return f
}

// parseBody reads a body as far as its operation has room for it, and adds to v what is
// wrong with it. It reports false when there is no value: nothing was given, or nothing
// that can be read.
func (op *operation) parseBody(raw []byte, v *verdict) (any, bool) {
	if op.body == nil {
		if text := bytes.TrimSpace(raw); len(text) > 0 && !emptyObject.Match(text) {
			v.add("", fault.Format, "This operation takes no body.")
		}
		return nil, false
	}
	if len(raw) == 0 {
		if !op.bodyOptional {
			v.add("", fault.Required, "A JSON body is required.")
		}
		return nil, false
	}
	read, isJSON := parseJSON(raw, op.bodyRoom)
	for _, violation := range read.violations {
		v.add(violation.Param, violation.Code, violation.Message)
	}
	v.omitted += read.omitted
	dropNulls(op.body, read.value)
	return read.value, isJSON
}

// checkBody validates a body that was read against the contract and the rules of its
// operation, and adds to v what is wrong with it. It returns the body in a form that
// encoding/json decodes without surprise.
func (e *Edge) checkBody(op *operation, value any, v *verdict) ([]byte, error) {
	before := len(v.violations)
	var invalid *jsonschema.ValidationError
	if err := op.body.Validate(value); errors.As(err, &invalid) {
		v.addAll(invalid)
	} else if err != nil {
		return nil, fmt.Errorf("validating a body of %s: %w", op.id, err)
	}
	if body, ok := value.(map[string]any); ok {
		e.checkRules(op, body, v)
	}
	if invalid != nil && len(v.violations) == before {
		return nil, fmt.Errorf("a violation in a body of %s has no name: %w", op.id, invalid)
	}
	return json.Marshal(value)
}

// emptyObject is what clients send that always send something.
var emptyObject = regexp.MustCompile(`^\{[ \t\r\n]*\}$`)

// checkRules applies what a schema cannot say.
func (e *Edge) checkRules(op *operation, body map[string]any, v *verdict) {
	checkMetadata(body, v)
	switch op.id {
	case "createVideo":
		e.checkCreateVideo(body, v)
	case "createClientToken":
		checkCreateClientToken(body, v)
	case "createAnalysis":
		e.checkCreateAnalysis(body, v)
	case "createAnalysisBatch":
		e.checkCreateBatch(body, v)
	case "parsePrompt":
		checkParse(body, v)
	}
}

// checkCreateVideo applies what the schema cannot say (api-v1.md, "Create video
// request").
func (e *Edge) checkCreateVideo(body map[string]any, v *verdict) {
	rawURL, byURL := body["url"]
	if _, given := body["content_type"]; !byURL && !given {
		v.add("content_type", fault.Required, "is required without url")
	}
	if byURL {
		for _, field := range []string{"content_type", "filename", "size_bytes"} {
			if _, given := body[field]; given {
				v.add(field, fault.Exclusive, "cannot be given together with url")
			}
		}
	}
	if size := asFloat(body["size_bytes"]); size > float64(video.MaxBytes) {
		v.name(fault.New(fault.VideoTooLarge, "").WithParam("size_bytes"))
	}
	if byURL {
		e.checkTarget("url", rawURL, v)
	}
}

// checkCreateClientToken applies what the schema cannot say (api-v1.md, "Client tokens").
func checkCreateClientToken(body map[string]any, v *verdict) {
	_, video := body["video_id"]
	stream, given := body["stream_id"]
	if video && given {
		v.add("stream_id", fault.Exclusive, "cannot be given together with video_id")
	}
	if text, ok := stream.(string); ok && !id.Valid(id.Stream, text) && !v.has("stream_id") {
		v.add("stream_id", fault.Format, "must be an id that begins with st_")
	}
}

// checkTarget refuses a URL that the service would not ask for.
func (e *Edge) checkTarget(param string, rawURL any, v *verdict) {
	text, isText := rawURL.(string)
	if !isText || v.has(param) {
		return
	}
	err := e.CheckURL(text)
	if err == nil {
		return
	}
	f := fault.Of(err)
	if f == nil {
		f = fault.New(fault.URLForbidden, "").WithCause(err)
	}
	if f.Code != fault.ValidationFailed {
		refused := *f
		v.name(refused.WithParam(param))
		v.add(param, fault.Format, f.Message)
		return
	}
	for _, violation := range f.Violations {
		v.add(param, violation.Code, violation.Message)
	}
}

func asFloat(v any) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	default:
		return 0
	}
}

// addAll adds every leaf of a schema's verdict.
func (v *verdict) addAll(e *jsonschema.ValidationError) {
	at := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			v.add(join(at, name), fault.Required, "is required")
		}
		return
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			v.add(join(at, name), fault.UnknownField, "is not a field of this request")
		}
		return
	case *kind.PropertyNames:
		// The validator shares the slice of this one location between errors, so that
		// it may be wrong by now; checkMetadata names the key instead.
		return
	}
	if exclusive(e) {
		return // the rules of the operation name the fields
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			if !wantsNull(c) {
				v.addAll(c)
			}
		}
		return
	}
	code, message := describe(e.ErrorKind)
	v.add(at, code, message)
}

// exclusive reports whether a body breaks the group that says which of its fields exclude each other.
func exclusive(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		return len(e.InstanceLocation) == 0
	default:
		return false
	}
}

// wantsNull reports whether a value was only held against the alternative that it is left out.
func wantsNull(e *jsonschema.ValidationError) bool {
	k, ok := e.ErrorKind.(*kind.Type)
	return ok && slices.Equal(k.Want, []string{"null"})
}

// metadataName is what a key of metadata looks like, apart from its length (api-v1.md,
// "Conventions").
var metadataName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// maxMetadataName is the longest key of metadata, in characters.
const maxMetadataName = 40

// checkMetadata checks the keys of metadata, in every body that has one.
func checkMetadata(body map[string]any, v *verdict) {
	metadata, _ := body["metadata"].(map[string]any)
	for name := range metadata {
		switch {
		case utf8.RuneCountInString(name) > maxMetadataName:
			v.add(join("metadata", name), fault.Length, fmt.Sprintf("its name must have at most %d characters", maxMetadataName))
		case !metadataName.MatchString(name):
			v.add(join("metadata", name), fault.Format, "its name must match "+metadataName.String())
		}
	}
}

// describe puts one broken keyword of a schema into the words of the contract.
func describe(k jsonschema.ErrorKind) (fault.ViolationCode, string) {
	number := func(r fmt.Stringer) string { return strings.TrimSuffix(r.String(), "/1") }
	switch k := k.(type) {
	case *kind.Type:
		return fault.Type, "must be of type " + strings.Join(k.Want, " or ") + ", not " + k.Got
	case *kind.Enum:
		return fault.Enum, "must be one of " + listed(k.Want)
	case *kind.Pattern:
		return fault.Format, "must match " + k.Want
	case *kind.Format:
		return fault.Format, "must be a " + k.Want
	case *kind.MinLength:
		return fault.Length, fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fault.Length, fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fault.Length, fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fault.Length, fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.UniqueItems:
		return fault.Exclusive, "must not repeat an item"
	case *kind.MaxProperties:
		return fault.Length, fmt.Sprintf("must have at most %d keys", k.Want)
	case *kind.Minimum:
		return fault.Range, "must be at least " + number(k.Want)
	case *kind.Maximum:
		return fault.Range, "must be at most " + number(k.Want)
	default:
		return fault.Format, "does not match the contract"
	}
}

func listed(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}
