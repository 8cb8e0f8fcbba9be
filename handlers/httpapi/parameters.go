package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/httpapi/api"
	"vqa/projections"
)

// The bounds of a page (open-points.md, "Lists").
const (
	defaultLimit = 20
	maxLimit     = 100
)

// maxWait is the longest that a caller may wait (api-v1.md, "Limits").
const maxWait = 120 * time.Second

// parameterFault puts a failed binding of the generated server into the words of the
// contract. The path holds ids only, and a malformed id reads as unknown.
func parameterFault(err error) error {
	var malformed *api.InvalidParamFormatError
	var tooMany *api.TooManyValuesForParamError
	switch {
	case errors.As(err, &malformed) && malformed.ParamName == "id":
		return fault.NotFound()
	case errors.As(err, &malformed):
		return fault.Invalid(badParameter(malformed.ParamName))
	case errors.As(err, &tooMany):
		return fault.Invalid(fault.Violation{Param: tooMany.ParamName, Code: fault.Exclusive, Message: "must be given once"})
	default:
		return fault.Invalid(fault.Violation{Code: fault.Format, Message: "A parameter is malformed."}).WithCause(err)
	}
}

func badParameter(name string) fault.Violation {
	switch name {
	case "limit":
		return fault.Violation{Param: name, Code: fault.Type, Message: "must be one integer"}
	case "created_after", "created_before":
		return fault.Violation{Param: name, Code: fault.Format, Message: "must be one RFC 3339 time"}
	default:
		return fault.Violation{Param: name, Code: fault.Format, Message: "is malformed or given twice"}
	}
}

// listParameters are those that every list has.
type listParameters struct {
	limit                       *int
	startingAfter, endingBefore *string
	createdAfter, createdBefore *time.Time
}

// page checks them; cursor is the kind of id that the list's items have. What is
// wrong is added to v.
func (p listParameters) page(cursor id.Prefix, v *verdict) projections.Page {
	page := projections.Page{Limit: defaultLimit, CreatedAfter: p.createdAfter, CreatedBefore: p.createdBefore}
	if p.limit != nil {
		if *p.limit < 1 || *p.limit > maxLimit {
			v.add("limit", fault.Range, fmt.Sprintf("must be 1 to %d", maxLimit))
		}
		page.Limit = *p.limit
	}
	if p.startingAfter != nil && p.endingBefore != nil {
		v.add("ending_before", fault.Exclusive, "cannot be given together with starting_after")
	}
	page.StartingAfter = identifier("starting_after", p.startingAfter, cursor, v)
	page.EndingBefore = identifier("ending_before", p.endingBefore, cursor, v)
	return page
}

// identifier checks the form of an optional id.
func identifier(name string, given *string, prefix id.Prefix, v *verdict) string {
	if given == nil {
		return ""
	}
	if !id.Valid(prefix, *given) {
		v.add(name, fault.Format, fmt.Sprintf("must be an id that begins with %s_", prefix))
	}
	return *given
}

// enumerated checks an optional value of a closed set.
func enumerated[T interface {
	~string
	Valid() bool
}](name string, given *T, v *verdict) T {
	if given == nil {
		return ""
	}
	if !(*given).Valid() {
		v.add(name, fault.Enum, "is not one of the values of this parameter")
	}
	return *given
}

// plainText checks an optional text that is looked up as it is.
func plainText(name string, given *string, longest int, v *verdict) string {
	if given == nil {
		return ""
	}
	length := utf8.RuneCountInString(*given)
	switch {
	case length < 1 || length > longest:
		v.add(name, fault.Length, fmt.Sprintf("must have 1 to %d characters", longest))
	case !utf8.ValidString(*given) || strings.ContainsFunc(*given, unicode.IsControl):
		v.add(name, fault.Format, "must be printable text")
	}
	return *given
}

// joinPreferences makes one header of several Prefer headers, which mean the same
// (RFC 7240, section 2).
func joinPreferences(h http.Header) {
	if values := h.Values("Prefer"); len(values) > 1 {
		h.Set("Prefer", strings.Join(values, ", "))
	}
}

// preferredWait reads how long a caller wants to wait: `wait=<seconds>`, 1 to 120.
// Other preferences are ignored, as RFC 7240 wants; 0 is no wish to wait.
func preferredWait(header *string) (time.Duration, error) {
	if header == nil {
		return 0, nil
	}
	for preference := range strings.SplitSeq(*header, ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
		if err != nil {
			return 0, fault.Invalid(fault.Violation{Param: "Prefer", Code: fault.Format, Message: "must be wait=<seconds>"})
		}
		wait := time.Duration(seconds) * time.Second
		if seconds < 1 || seconds > int(maxWait/time.Second) {
			message := fmt.Sprintf("wait must be 1 to %d seconds", int(maxWait/time.Second))
			return 0, fault.Invalid(fault.Violation{Param: "Prefer", Code: fault.Range, Message: message})
		}
		return wait, nil
	}
	return 0, nil
}
