package edge

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"

	"vqa/domain/fault"
	"vqa/domain/id"
)

// refusals has a message for each status that net/http sends without a reason.
var refusals = map[int]string{
	http.StatusBadRequest:                  "The request line or a header is malformed.",
	http.StatusRequestHeaderFieldsTooLarge: "The request line and the headers together are larger than 64 KiB.",
	http.StatusNotImplemented:              "The transfer encoding is not supported. Send the body with Content-Length or in chunks.",
	http.StatusHTTPVersionNotSupported:     "The HTTP version is not supported. Use HTTP/1.1.",
	http.StatusExpectationFailed:           "The only supported value of Expect is 100-continue.",
}

// Refuse returns the response to a request that net/http refused before any handler ran
// (wire.Options): the error envelope with a request id and the rate limit headers. The
// status is that of net/http. The code is validation_failed, or
// concurrency_limit_exceeded for an address with too many connections.
func (e *Edge) Refuse(client net.Addr, status int, reason string) []byte {
	start := e.Service.Now()
	raw := &rawResponse{header: http.Header{}}
	x := &Exchange{RequestID: e.Service.IDs.New(id.Request), edge: e, log: e.Log, response: newRecorder(raw, e.ResponsePace)}
	r := (&http.Request{RemoteAddr: client.String(), Header: http.Header{}, URL: &url.URL{}}).
		WithContext(context.WithValue(context.Background(), exchangeKey{}, x))
	raw.header.Set("X-Request-Id", x.RequestID)
	raw.header.Set("X-Content-Type-Options", "nosniff")
	raw.header.Set("Date", start.UTC().Format(http.TimeFormat))
	_ = e.admit(x, r, exempt, nil)
	message := refusals[status]
	if reason != "" {
		message = "The request is malformed: " + reason + "."
	}
	f := fault.New(fault.ValidationFailed, message)
	if status == http.StatusTooManyRequests {
		f = fault.New(fault.ConcurrencyLimitExceeded, reason+".")
	}
	writeEnvelope(x.response, status, f, x.RequestID)
	e.log(x, r, start)
	return raw.bytes()
}

// rawResponse is a response that is written to memory.
type rawResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (p *rawResponse) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *rawResponse) WriteHeader(status int) { p.status = status }

// Write implements http.ResponseWriter.
func (p *rawResponse) Write(b []byte) (int, error) { return p.body.Write(b) }

// bytes returns the response as HTTP/1.1 with Connection: close.
func (p *rawResponse) bytes() []byte {
	var out bytes.Buffer
	response := http.Response{
		StatusCode: p.status, ProtoMajor: 1, ProtoMinor: 1, Header: p.header, Close: true,
		Body: io.NopCloser(&p.body), ContentLength: int64(p.body.Len()),
	}
	_ = response.Write(&out) // writing to memory does not fail
	return out.Bytes()
}
