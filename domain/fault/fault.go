package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Fault is an error whose code and message reach the caller. Any other error reaches the
// caller as internal_error.
type Fault struct {
	// Code is one of the closed registry.
	Code Code
	// Message names the problem and the remedy, for a person. It never holds a secret.
	Message string
	// Param is the dotted path of the invalid field, or empty.
	Param string
	// Violations lists the broken rules of a validation_failed.
	Violations []Violation
	// OmittedViolations is the number of violations that were found but are not listed.
	OmittedViolations int
	// Details are further members of the details object in the error response.
	Details map[string]any
	// RetryAfterS is the minimum number of whole seconds to wait before a retry. It is 0
	// when no time is known.
	RetryAfterS int
	// Cause is the underlying error. It is logged and never sent.
	Cause error
}

// Violation is one broken rule of a request (docs/contract.md#error-violations).
type Violation struct {
	// Param is the dotted path of the field. It is empty for the body as a whole.
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

// New returns a fault with the given code. When message is empty, the message of the
// registry is used.
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

// Invalid returns a validation_failed that lists the given violations.
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

// maxShownID is the number of bytes of an unknown id that a message repeats. A valid id has
// at most 32.
const maxShownID = 64

// NotFound returns the answer for an id that does not exist or belongs to another account.
// The two cases look the same, so the answer does not reveal whether an id exists
// (docs/contract.md#tenancy). param is the field that carried the id, "id" for one in the
// path. When id is empty, the message of the registry is used.
func NotFound(param, id string) *Fault {
	if id == "" {
		return New(ResourceNotFound, "").WithParam(param)
	}
	if len(id) > maxShownID {
		id = strings.ToValidUTF8(id[:maxShownID], "") + "…"
	}
	return Newf(ResourceNotFound, "There is no resource with the id %q.", id).WithParam(param)
}

// WithParam sets the invalid field and returns f.
func (f *Fault) WithParam(param string) *Fault { f.Param = param; return f }

// WithDetail adds a member to the details and returns f.
func (f *Fault) WithDetail(key string, value any) *Fault {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[key] = value
	return f
}

// WithRetryAfter sets the seconds to wait before a retry, at least 1, and returns f.
func (f *Fault) WithRetryAfter(seconds int) *Fault {
	f.RetryAfterS = max(seconds, 1)
	return f
}

// WithCause sets the underlying error and returns f.
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

// Of returns the fault in err's chain, or nil when there is none.
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
