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

// maxBody is the largest JSON body in bytes.
const maxBody = 1 << 20

// textTypes are the media types of bodies that an operation reads by itself, and maxText is their largest
// size in bytes.
var textTypes = []string{"application/sdp", "application/trickle-ice-sdpfrag"}

const maxText = 64 << 10

const (
	// maxViolations is the most violations in one error. The others are only counted.
	maxViolations = 100
	// maxParam is the longest path of a violation, in bytes.
	maxParam = 200
)

// maxMultipart is the largest multipart body in bytes. A larger file must be uploaded to a
// presigned URL (docs/contract.md#limits).
const maxMultipart = 100 << 20

// receive reads the whole body of a request. Errors: payload_too_large,
// unsupported_media_type, validation_failed for an incomplete body.
func (op *operation) receive(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodOptions {
		return nil, nil
	}
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := parameters["charset"]
	isJSON := err == nil && mediaType == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
	if strings.HasPrefix(mediaType, "multipart/") && op.body != nil {
		if r.ContentLength > maxMultipart {
			return nil, fault.Newf(fault.PayloadTooLarge, "The body is larger than %d bytes. Create the video first, then upload the file to its presigned URL.", maxMultipart)
		}
		return nil, fault.New(fault.UnsupportedMediaType, "The content type must be application/json. Upload files to the presigned URL of a video.")
	}
	limit, wanted := int64(maxBody), "application/json"
	if op.text != "" {
		limit, wanted, isJSON = maxText, op.text, err == nil && mediaType == op.text
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case err != nil && !errors.As(err, &tooLarge):
		return nil, incompleteBody(w, err)
	case op.body == nil && op.text == "":
		// parseBody refuses a body that is not empty.
		return raw, nil
	case len(raw) > 0 && !isJSON:
		return nil, fault.Newf(fault.UnsupportedMediaType, "The content type must be %s.", wanted)
	case errors.As(err, &tooLarge):
		return nil, fault.Newf(fault.PayloadTooLarge, "The request body is larger than %d bytes.", limit)
	}
	return raw, nil
}

// incompleteBody returns the error for a body that did not arrive. It closes the
// connection, because the rest of the body may still arrive.
func incompleteBody(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close")
	message := "The body is incomplete."
	if errors.Is(err, wire.ErrSlow) {
		message = "The body arrived too slowly. Send it without pauses, within 30 seconds."
	}
	return fault.Invalid(fault.Violation{Code: fault.Format, Message: message}).WithCause(err)
}

// setBody replaces the body that was read by the checked one.
func setBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}

// verdict collects the violations of a request. Their number is bounded, because the parser
// keeps a bounded part of a body.
type verdict struct {
	violations []fault.Violation
	// omitted counts the violations that were found and not kept.
	omitted int
	// specific is the fault of the first violation for which the contract has its own code.
	specific *fault.Fault
}

func (v *verdict) add(param string, code fault.ViolationCode, message string) {
	v.violations = append(v.violations, fault.Violation{Param: shortened(param), Code: code, Message: message})
}

// shortened returns a path of at most maxParam bytes. The middle of a longer path is
// replaced by "…".
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

// setSpecific replaces validation_failed by a fault with its own code. The first one counts.
func (v *verdict) setSpecific(f *fault.Fault) {
	if v.specific == nil {
		v.specific = f
	}
}

// has reports whether there is a violation in a field or in one of its members.
func (v *verdict) has(param string) bool {
	return slices.ContainsFunc(v.violations, func(o fault.Violation) bool {
		return o.Param == param || strings.HasPrefix(o.Param, param+".")
	})
}

// err returns nil, the specific fault or validation_failed, with at most maxViolations
// violations, sorted by their path.
func (v *verdict) err() error {
	slices.SortStableFunc(v.violations, func(a, b fault.Violation) int {
		return cmp.Or(strings.Compare(a.Param, b.Param), strings.Compare(string(a.Code), string(b.Code)))
	})
	if len(v.violations) == 0 && v.specific == nil {
		return nil
	}
	kept := v.violations[:min(len(v.violations), maxViolations)]
	f := v.specific
	if f == nil {
		f = fault.Invalid(kept...)
	}
	f.Violations, f.OmittedViolations = kept, v.omitted+len(v.violations)-len(kept)
	return f
}

// parseBody parses a body within the bounds of its operation and adds the violations to v.
// It returns false if there is no value: the body is empty or not valid JSON.
func (op *operation) parseBody(raw []byte, v *verdict) (any, bool) {
	if op.body == nil {
		if text := bytes.TrimSpace(raw); len(text) > 0 && !emptyObject.Match(text) {
			v.add("", fault.Format, "This operation does not accept a body.")
		}
		return nil, false
	}
	if len(raw) == 0 {
		if !op.bodyOptional {
			v.add("", fault.Required, "A JSON body is required.")
		}
		return nil, false
	}
	read, isJSON := parseJSON(raw, op.bodyBounds)
	for _, violation := range read.violations {
		v.add(violation.Param, violation.Code, violation.Message)
	}
	v.omitted += read.omitted
	if !op.patches {
		normalize(op.body, read.value)
	}
	return read.value, isJSON
}

// checkBody validates a parsed body against the contract and the rules of its operation,
// and adds the violations to v. It returns the checked value as JSON, so that encoding/json
// cannot read the body differently.
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
		return nil, fmt.Errorf("a violation in a body of %s has no field: %w", op.id, invalid)
	}
	return json.Marshal(value)
}

// emptyObject matches the body of clients that always send a JSON object.
var emptyObject = regexp.MustCompile(`^\{[ \t\r\n]*\}$`)

// checkRules applies the rules that a JSON schema cannot express.
func (e *Edge) checkRules(op *operation, body map[string]any, v *verdict) {
	checkMetadata(body, v)
	switch op.id {
	case "createVideo":
		e.checkCreateVideo(body, v)
	case "createClientToken":
		checkCreateClientToken(body, v)
	case "createWebhookEndpoint", "updateWebhookEndpoint":
		checkTarget("url", body["url"], e.Targets.CheckWebhookURL, v)
	case "createAnalysis", "createStream":
		e.checkCreateAnalysis(body, v)
	case "createAnalysisBatch":
		e.checkCreateBatch(body, v)
	case "parsePrompt":
		checkParse(body, v)
	}
}

// checkCreateVideo applies the rules of docs/contract.md#create-video.
func (e *Edge) checkCreateVideo(body map[string]any, v *verdict) {
	rawURL, byURL := body["url"]
	if _, given := body["content_type"]; !byURL && !given {
		v.add("content_type", fault.Required, "is required unless url is given")
	}
	if byURL {
		for _, field := range []string{"content_type", "filename", "size_bytes"} {
			if _, given := body[field]; given {
				v.add(field, fault.Exclusive, "cannot be given together with url")
			}
		}
	}
	if size := asFloat(body["size_bytes"]); size > float64(video.MaxBytes) {
		v.setSpecific(fault.New(fault.VideoTooLarge, "").WithParam("size_bytes"))
	}
	if byURL {
		checkTarget("url", rawURL, e.Targets.CheckURL, v)
	}
}

// checkCreateClientToken applies the rules of docs/contract.md#client-tokens.
func checkCreateClientToken(body map[string]any, v *verdict) {
	_, video := body["video_id"]
	stream, given := body["stream_id"]
	if video && given {
		v.add("stream_id", fault.Exclusive, "cannot be given together with video_id")
	}
	if text, ok := stream.(string); ok && !id.Valid(id.Stream, text) && !v.has("stream_id") {
		v.add("stream_id", fault.Format, "must be an id that starts with st_")
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

// addAll adds every leaf of a validation error.
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
		// The validator reuses the slice of this location, so it may be wrong. checkMetadata
		// reports the key instead.
		return
	}
	if exclusive(e) {
		return // checkRules reports the fields
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			if !isNullAlternative(c) {
				v.addAll(c)
			}
		}
		return
	}
	code, message := describe(e.ErrorKind)
	if at == "" {
		message = "The body " + message + "."
	}
	v.add(at, code, message)
}

// exclusive reports whether a body has fields that exclude each other.
func exclusive(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		return len(e.InstanceLocation) == 0
	default:
		return false
	}
}

// isNullAlternative reports whether an error is only about the alternative null.
func isNullAlternative(e *jsonschema.ValidationError) bool {
	k, ok := e.ErrorKind.(*kind.Type)
	return ok && slices.Equal(k.Want, []string{"null"})
}

// metadataName matches a key of metadata of any length (docs/contract.md#metadata).
var metadataName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// maxMetadataName is the longest key of metadata, in characters.
const maxMetadataName = 40

// checkMetadata checks the keys of metadata, in every body that has one.
func checkMetadata(body map[string]any, v *verdict) {
	metadata, _ := body["metadata"].(map[string]any)
	for name := range metadata {
		switch {
		case utf8.RuneCountInString(name) > maxMetadataName:
			v.add(join("metadata", name), fault.Length, fmt.Sprintf("the key must have at most %d characters", maxMetadataName))
		case !metadataName.MatchString(name):
			v.add(join("metadata", name), fault.Format, "the key must match "+metadataName.String())
		}
	}
}

// describe returns the code and the message for one violated keyword of a schema.
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
		if k.Want == "date-time" {
			return fault.Format, timeForm
		}
		return fault.Format, "must be a " + k.Want
	case *kind.MinLength:
		if k.Want == 1 {
			return fault.Length, "must not be empty"
		}
		return fault.Length, fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fault.Length, fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		if k.Want == 1 {
			return fault.Length, "must have at least 1 item"
		}
		return fault.Length, fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fault.Length, fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.UniqueItems:
		return fault.Exclusive, "must not contain an item twice"
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
		if texts[i] = fmt.Sprint(v); v == nil {
			texts[i] = "null"
		}
	}
	return strings.Join(texts, ", ")
}
