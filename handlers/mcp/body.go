package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"vqa/domain/fault"
)

// maxMessages is the most messages of one body. Revisions before 2025-06-18 allow more than one.
const maxMessages = 20

// survey reads the body of a request and counts its messages, before the SDK decodes them. calls are those
// that expect a response. A body that is not JSON has no messages; the SDK refuses it. A body that is too
// large is only read in part, and the SDK refuses it, too. Error: validation_failed.
func survey(r *http.Request) (messages, calls int, err error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return 0, 0, fault.Invalid(fault.Violation{Code: fault.Format, Message: "The request body could not be read completely."}).WithCause(err)
	}
	r.Body = rereading{io.MultiReader(bytes.NewReader(raw), r.Body), r.Body}
	if len(raw) > maxBody {
		return 0, 0, nil
	}
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		all = []json.RawMessage{raw}
	}
	if len(all) > maxMessages {
		return len(all), 0, nil
	}
	for _, one := range all {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(one, &m) == nil && m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" {
			calls++
		}
	}
	return len(all), calls, nil
}

// rereading is a body of which a part was read before.
type rereading struct {
	io.Reader
	io.Closer
}
