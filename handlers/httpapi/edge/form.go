package edge

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"vqa/domain/fault"
)

// maxForm is the largest body of a form in bytes.
const maxForm = 8 << 10

// checkForm validates the form of a page against its schema in the contract, like any
// other body. Errors: payload_too_large, unsupported_media_type, and validation_failed with
// every violation.
func (e *Edge) checkForm(x *Exchange, r *http.Request, v *verdict) error {
	raw, err := io.ReadAll(http.MaxBytesReader(x.response, r.Body, maxForm))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fault.Newf(fault.PayloadTooLarge, "The form is larger than %d bytes.", maxForm)
	case err != nil:
		return incompleteBody(x.response, err)
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/x-www-form-urlencoded" {
		return fault.New(fault.UnsupportedMediaType, "The content type must be application/x-www-form-urlencoded.")
	}
	fields, err := url.ParseQuery(string(raw))
	if err != nil {
		return fault.Invalid(fault.Violation{Code: fault.Format, Message: "The body is not valid form data."})
	}
	body := make(map[string]string, len(fields))
	for name, values := range fields {
		if len(values) > 1 {
			v.add(name, fault.Exclusive, "must be given only once")
		}
		body[name] = values[0]
	}
	asJSON, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if value, ok := x.operation.parseBody(asJSON, v); ok {
		if _, err := e.checkBody(x.operation, value, v); err != nil {
			return err
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	// Parameters of the URL are not part of the form.
	r.URL.RawQuery = ""
	setBody(r, raw)
	return nil
}
