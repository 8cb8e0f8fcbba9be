package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"vqa/domain/fault"
)

// Fetched describes a body that arrived whole.
type Fetched struct {
	SizeBytes   int64
	ContentType string // as the server gave it, unverified
}

// Fetch streams the body of raw, of at most limit bytes, into w. progress, which may
// be nil, is called from the same goroutine with the bytes so far and the length the
// server announced (-1 when it did not).
//
// Its faults: those of CheckURL for the URL itself; url_forbidden for a forbidden
// address or redirect; url_fetch_failed for an unreachable host, a response other
// than 200, a deadline, a transfer below MinRate, a cut, empty or encoded body; video_too_large over limit.
// An error of w is returned as it is. When ctx ends, the error is that of ctx. In
// every case w may have received a part.
func (c *Client) Fetch(ctx context.Context, raw string, w io.Writer, limit int64, progress func(done, total int64)) (Fetched, error) {
	t, err := c.parse(raw)
	if err != nil {
		return Fetched{}, err
	}
	fetchCtx, cancel := context.WithTimeout(ctx, c.opt.TotalTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(fetchCtx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return Fetched{}, invalid(fault.Format, "must be an absolute URL")
	}
	req.Header.Set("Accept", "video/mp4, video/quicktime, */*;q=0.5")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "vqa/1 (video fetch)")
	resp, err := (&http.Client{Transport: c, CheckRedirect: c.follow}).Do(req)
	if err != nil {
		return Fetched{}, translate(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := checkResponse(resp, limit); err != nil {
		return Fetched{}, err
	}
	n, err := c.stream(fetchCtx, cancel, resp, w, limit, progress)
	var broken readError
	if errors.As(err, &broken) {
		return Fetched{}, translate(ctx, broken.error)
	}
	if err != nil {
		return Fetched{}, err
	}
	return Fetched{SizeBytes: n, ContentType: resp.Header.Get("Content-Type")}, nil
}

func checkResponse(resp *http.Response, limit int64) error {
	if resp.StatusCode != http.StatusOK {
		return failed(fmt.Sprintf("the server answered with status %d", resp.StatusCode))
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return failed("the server sent an encoded body")
	}
	if resp.ContentLength > limit {
		return fault.New(fault.VideoTooLarge, "").WithParam(param)
	}
	return nil
}

// readError marks an error of the server's side in what stream returns.
type readError struct{ error }

// pace judges how fast a body arrives: a server that drips keeps a worker as busy as one
// that is silent.
type pace struct {
	minRate int64
	window  time.Duration
	waited  time.Duration
	bytes   int64
}

// read counts n bytes that took so long to arrive, and reports false when a whole window
// brought too few.
func (p *pace) read(n int, took time.Duration) bool {
	p.waited += took
	p.bytes += int64(n)
	if p.waited < p.window {
		return true
	}
	// In milliseconds, so that no fraction of a second is lost.
	fast := p.bytes*1000 >= p.minRate*p.waited.Milliseconds()
	p.waited, p.bytes = 0, 0
	return fast
}

// stream copies the body and gives up, by cancel, when it falls silent or drips.
func (c *Client) stream(ctx context.Context, cancel context.CancelFunc, resp *http.Response, w io.Writer, limit int64, progress func(done, total int64)) (int64, error) {
	silence := time.AfterFunc(c.opt.IdleTimeout, cancel)
	defer silence.Stop()
	buf := make([]byte, 128<<10)
	var done int64
	pace := pace{minRate: c.opt.MinRate, window: c.opt.RateWindow}
	for {
		asked := time.Now()
		n, readErr := resp.Body.Read(buf)
		fast := pace.read(n, time.Since(asked))
		silence.Stop() // a slow writer is not the server's silence
		if done += int64(n); done > limit {
			return done, fault.New(fault.VideoTooLarge, "").WithParam(param)
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return done, err
			}
			if progress != nil {
				progress(done, resp.ContentLength)
			}
		}
		switch {
		case errors.Is(readErr, io.EOF) && ctx.Err() != nil:
			// A deadline closes the connection, and a server may take that for the
			// moment to end its body in good order: it is a cut all the same.
			return done, readError{ctx.Err()}
		case errors.Is(readErr, io.EOF) && done == 0:
			return 0, failed("the server sent no bytes")
		case errors.Is(readErr, io.EOF):
			return done, nil
		case readErr != nil:
			return done, readError{readErr}
		case !fast:
			return done, failed(fmt.Sprintf("the server sends fewer than %d bytes a second", c.opt.MinRate))
		}
		silence.Reset(c.opt.IdleTimeout)
	}
}

// translate turns what went wrong on the way into a fault. The fault of a refused
// address or redirect is somewhere in the chain; a redirect's malformed target is not
// the caller's mistake. ctx is the caller's, without the deadlines of this package.
func translate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("egress: %w", context.Cause(ctx))
	}
	if f := fault.Of(err); f != nil && f.Code != fault.ValidationFailed {
		return f
	}
	// What http.Client wraps around an error repeats the URL, whose query may be a
	// secret, and a cause is logged.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var late interface{ Timeout() bool }
	if errors.As(err, &late) && late.Timeout() || errors.Is(err, context.Canceled) {
		return failed("the server was too slow").WithCause(err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return failed("the connection broke off").WithCause(err)
	}
	return failed("the server could not be reached").WithCause(err)
}
