package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Fault is an error that a caller of the service is told about. Everything else
// that goes wrong is an ordinary error and reaches the caller as internal_error.
type Fault struct {
	// Code is one of the closed registry.
	Code Code
	// Message is one sentence for a person; it never holds a secret.
	Message string
	// Param names the field at fault as a dotted path, or is empty.
	Param string
	// Violations lists every violation of a validation_failed.
	Violations []Violation
	// OmittedViolations counts the violations that were found and are not listed.
	OmittedViolations int
	// Details are further members of the envelope's details object.
	Details map[string]any
	// RetryAfterS is the least number of whole seconds to wait before a retry; 0
	// when the code carries no such promise.
	RetryAfterS int
	// Cause is what led to the fault, for the log only.
	Cause error
}

// Violation is one broken rule of a request (open-points.md, "Errors").
type Violation struct {
	// Param is the dotted path of the field, "" for the body as a whole.
	Param   string        `json:"param"`
	Code    ViolationCode `json:"code"`
	Message string        `json:"message"`
}

// ViolationCode is the closed set of reasons in errors[].
type ViolationCode string

// The reasons of a violation.
const (
	Required     ViolationCode = "required"
	UnknownField ViolationCode = "unknown_field"
	Type         ViolationCode = "type"
	Format       ViolationCode = "format"
	Range        ViolationCode = "range"
	Length       ViolationCode = "length"
	Enum         ViolationCode = "enum"
	Exclusive    ViolationCode = "exclusive"
)

// New returns a fault with the given code. An empty message takes the registry's.
func New(code Code, message string) *Fault {
	if message == "" {
		message = Lookup(code).Message
	}
	return &Fault{Code: code, Message: message}
}

// Newf is New with a formatted message.
func Newf(code Code, format string, args ...any) *Fault {
	return New(code, fmt.Sprintf(format, args...))
}

// Invalid returns a validation_failed that lists all the given violations.
func Invalid(violations ...Violation) *Fault {
	f := New(ValidationFailed, "")
	f.Violations = violations
	if len(violations) > 0 {
		f.Message = violations[0].Message
		if p := violations[0].Param; p != "" {
			f.Message = p + ": " + f.Message
		}
	}
	return f
}

// maxShownID is how many bytes of an unknown id a message repeats. Ids have 32 at most.
const maxShownID = 64

// NotFound returns the one answer for an id that does not exist or belongs to another
// account (api-v1.md, "Conventions": no existence oracle). It says only what the caller
// said: param is the field that carried the id, "id" for one in the path. An empty id
// leaves the registry's message.
func NotFound(param, id string) *Fault {
	if id == "" {
		return New(ResourceNotFound, "").WithParam(param)
	}
	if len(id) > maxShownID {
		id = strings.ToValidUTF8(id[:maxShownID], "") + "…"
	}
	return Newf(ResourceNotFound, "There is no resource with the id %q.", id).WithParam(param)
}

// WithParam returns f with the named field.
func (f *Fault) WithParam(param string) *Fault { f.Param = param; return f }

// WithDetail returns f with one more member of details.
func (f *Fault) WithDetail(key string, value any) *Fault {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[key] = value
	return f
}

// WithRetryAfter returns f with the seconds to wait before a retry, at least 1.
func (f *Fault) WithRetryAfter(seconds int) *Fault {
	f.RetryAfterS = max(seconds, 1)
	return f
}

// WithCause returns f with what led to it.
func (f *Fault) WithCause(err error) *Fault { f.Cause = err; return f }

// Error implements error.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Is makes errors.Is compare faults by their code.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.Code == f.Code
}

// Of returns the fault in err's chain, or nil when err is none of the caller's
// business.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// Has reports whether err is a fault with the given code.
func Has(err error, code Code) bool {
	f := Of(err)
	return f != nil && f.Code == code
}
