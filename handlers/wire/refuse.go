package wire

import (
	"io"
	"net/http"
	"time"
)

// Bounds of the body that Refuse reads.
const (
	drainBytes = 16 << 20
	drainTime  = 2 * time.Second
)

// Refuse lets write refuse a request before its body has arrived, and then reads on. A client that
// sends its whole body before it reads a response, such as Python's http.client, would otherwise get
// a broken connection instead of the error.
func Refuse(w http.ResponseWriter, r *http.Request, write func()) {
	control := http.NewResponseController(w)
	waits := r.Header.Get("Expect") != "" // then the client has not sent its body
	if r.Body == http.NoBody || waits || control.EnableFullDuplex() != nil {
		write()
		return
	}
	w.Header().Set("Connection", "close")
	write()
	_ = control.Flush()
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	body := r.Body
	if paced, ok := body.(*pacedBody); ok {
		body = paced.ReadCloser // it would replace the deadline at each read
	}
	_, _ = io.CopyN(io.Discard, body, drainBytes)
}
