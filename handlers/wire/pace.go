package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ErrSlow is wrapped in the error of a transfer that was slower than its pace.
var ErrSlow = errors.New("the peer is too slow")

// Pace says how slow the peer of a transfer may be. The service waits for a peer for Patience in
// total. Each byte gives waiting time back, up to Patience. A transfer at Rate or faster
// therefore never ends early, and a stalled one ends after Patience. Only the time in which the
// service waits counts.
type Pace struct {
	Patience time.Duration
	// Rate is in bytes per second.
	Rate int64
	// Total bounds the time from the first byte to the last. 0 means no limit.
	Total time.Duration
}

// earned returns the waiting time that n bytes give back.
func (p Pace) earned(n int) time.Duration {
	return time.Duration(float64(n) / float64(p.Rate) * float64(time.Second))
}

// meter holds the remaining waiting time of a peer.
type meter struct {
	Pace
	left time.Duration
	// end is the deadline of the whole transfer, or zero without one.
	end time.Time
}

func newMeter(p Pace) meter {
	m := meter{Pace: p, left: p.Patience}
	if p.Total > 0 {
		m.end = time.Now().Add(p.Total)
	}
	return m
}

// deadline returns the deadline of the peer for one step that moves at least n bytes.
func (m *meter) deadline(begin time.Time, n int) time.Time {
	d := begin.Add(m.left + m.earned(n))
	if !m.end.IsZero() && m.end.Before(d) {
		return m.end
	}
	return d
}

// spend counts a step that started at begin and moved n bytes.
func (m *meter) spend(begin time.Time, n int) {
	m.left = min(m.Patience, m.left-time.Since(begin)+m.earned(n))
}

// slow wraps ErrSlow around the error of a deadline.
func slow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrSlow, err)
	}
	return err
}

// Body returns the body of a request at a pace. It sets a deadline at once, so that an unread
// body does not keep its connection either. At the end of the body it removes the deadline. w
// may lack deadlines, as the recorder of a test does.
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

// Read implements io.Reader. It returns ErrSlow for a slow client.
func (b *pacedBody) Read(p []byte) (int, error) {
	begin := time.Now()
	if err := b.control.SetReadDeadline(b.deadline(begin, 0)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.spend(begin, n)
	if errors.Is(err, io.EOF) {
		// net/http now waits for the client to disconnect, while the handler may take long.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, slow(err)
}

// Writer writes a response at a pace.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	meter
}

// Writer returns a writer for the response w. It clears the deadline of an earlier response on
// the same connection.
func (p Pace) Writer(w http.ResponseWriter) *Writer {
	o := &Writer{w: w, control: http.NewResponseController(w), meter: newMeter(p)}
	_ = o.control.SetWriteDeadline(time.Time{})
	return o
}

// Write implements io.Writer. It returns ErrSlow for a slow client.
func (o *Writer) Write(p []byte) (int, error) {
	begin := time.Now()
	_ = o.control.SetWriteDeadline(o.deadline(begin, len(p)))
	n, err := o.w.Write(p)
	o.spend(begin, n)
	return n, slow(err)
}

// Finish sets the deadline for the bytes that are still buffered when the handler returns.
func (o *Writer) Finish() {
	_ = o.control.SetWriteDeadline(o.deadline(time.Now(), 0))
}
