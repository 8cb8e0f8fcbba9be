package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ErrSlow is in the chain of the error of a transfer that was slower than its pace.
var ErrSlow = errors.New("the peer is too slow")

// Pace is how slow the peer of a transfer may be. A peer may keep the service waiting for
// Patience in all, and earns waiting time back, up to Patience, with each byte: a transfer
// at Rate or faster never ends early, and one that stalls ends after Patience. Only the
// time in which the service waits counts.
type Pace struct {
	Patience time.Duration
	// Rate is in bytes per second.
	Rate int64
	// Total bounds the time from the first byte to the last; 0 is no bound.
	Total time.Duration
}

// earned is the waiting time that n bytes give back.
func (p Pace) earned(n int) time.Duration {
	return time.Duration(float64(n) / float64(p.Rate) * float64(time.Second))
}

// meter holds the waiting time that a peer has left.
type meter struct {
	Pace
	left time.Duration
	// end is the deadline of the whole transfer; zero when there is none.
	end time.Time
}

func newMeter(p Pace) meter {
	m := meter{Pace: p, left: p.Patience}
	if p.Total > 0 {
		m.end = time.Now().Add(p.Total)
	}
	return m
}

// deadline is until when the peer may take for one step that moves at least n bytes.
func (m *meter) deadline(begin time.Time, n int) time.Time {
	d := begin.Add(m.left + m.earned(n))
	if !m.end.IsZero() && m.end.Before(d) {
		return m.end
	}
	return d
}

// spend counts a step that began at begin and moved n bytes.
func (m *meter) spend(begin time.Time, n int) {
	m.left = min(m.Patience, m.left-time.Since(begin)+m.earned(n))
}

// late makes ErrSlow of the error of a deadline.
func late(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrSlow, err)
	}
	return err
}

// Body returns the body of a request at a pace. It sets a deadline at once, so that a
// body that nobody reads does not hold its connection either, and lifts it at the end of
// the body. w may be one that has no deadlines, such as a test's recorder.
func (p Pace) Body(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	b := &pacedBody{ReadCloser: body, control: http.NewResponseController(w), meter: newMeter(p)}
	_ = b.control.SetReadDeadline(b.deadline(time.Now(), 0))
	return b
}

type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	meter
}

// Read implements io.Reader. Error: ErrSlow.
func (b *pacedBody) Read(p []byte) (int, error) {
	begin := time.Now()
	if err := b.control.SetReadDeadline(b.deadline(begin, 0)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.spend(begin, n)
	if errors.Is(err, io.EOF) {
		// net/http now waits for the client to leave, however long the handler takes.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, late(err)
}

// Writer is a response at a pace.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	meter
}

// Writer returns a writer for the response w, and clears the deadline that an earlier
// response left on the connection.
func (p Pace) Writer(w http.ResponseWriter) *Writer {
	o := &Writer{w: w, control: http.NewResponseController(w), meter: newMeter(p)}
	_ = o.control.SetWriteDeadline(time.Time{})
	return o
}

// Write implements io.Writer. Error: ErrSlow.
func (o *Writer) Write(p []byte) (int, error) {
	begin := time.Now()
	_ = o.control.SetWriteDeadline(o.deadline(begin, len(p)))
	n, err := o.w.Write(p)
	o.spend(begin, n)
	return n, late(err)
}

// Finish sets the deadline of what is still buffered when the handler returns.
func (o *Writer) Finish() {
	_ = o.control.SetWriteDeadline(o.deadline(time.Now(), 0))
}
