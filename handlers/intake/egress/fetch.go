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

// Fetched describes a body that arrived completely.
type Fetched struct {
	SizeBytes   int64
	ContentType string // sent by the server, not verified
}

// StatusError is the cause of url_fetch_failed when the server responded with another status than 200.
type StatusError struct{ Status int }

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the server responded with status %d", e.Status)
}

// Fetch streams the body of the URL raw, of at most limit bytes, into w. progress may be nil. It
// is called in the same goroutine with the number of bytes so far and the announced length
// (-1 without one).
//
// Fetch returns the faults of CheckURL for the URL itself, and url_forbidden for a forbidden
// address or redirect. It returns video_too_large for a body over limit. It returns
// url_fetch_failed for an unreachable host, a status other than 200 (*StatusError), a deadline, a transfer
// below the minimum rate, and a cut, empty or encoded body. Errors of w are returned unchanged.
// When ctx ends, the error wraps the cause. w may have received a part of the body in all these
// cases.
func (c *Client) Fetch(ctx context.Context, raw string, w io.Writer, limit int64, progress func(done, total int64)) (Fetched, error) {
	t, err := c.parse(raw, fetchPorts)
	if err != nil {
		return Fetched{}, err
	}
	fetchCtx, cancel := context.WithTimeout(ctx, c.opt.totalTimeout)
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
		status := &StatusError{resp.StatusCode}
		return failed(status.Error()).WithCause(status)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return failed("the server sent a body with a Content-Encoding")
	}
	if resp.ContentLength > limit {
		return fault.New(fault.VideoTooLarge, "").WithParam(param)
	}
	return nil
}

// readError marks an error of stream that comes from the server.
type readError struct{ error }

// pace measures how fast a body arrives. A server that sends very slowly occupies a worker as
// much as a silent one.
type pace struct {
	minRate int64
	window  time.Duration
	waited  time.Duration
	bytes   int64
}

// read counts n bytes and the time that they took. It returns false when too few bytes arrived
// in a whole window.
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

// stream copies the body. It cancels the request when the server is silent or too slow.
func (c *Client) stream(ctx context.Context, cancel context.CancelFunc, resp *http.Response, w io.Writer, limit int64, progress func(done, total int64)) (int64, error) {
	silence := time.AfterFunc(c.opt.idleTimeout, cancel)
	defer silence.Stop()
	buf := make([]byte, 128<<10)
	var done int64
	pace := pace{minRate: c.opt.minRate, window: c.opt.rateWindow}
	for {
		asked := time.Now()
		n, readErr := resp.Body.Read(buf)
		fast := pace.read(n, time.Since(asked))
		silence.Stop() // the time of the writer does not count
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
			// A deadline closes the connection. A server may then end its body regularly, but
			// the body is still incomplete.
			return done, readError{ctx.Err()}
		case errors.Is(readErr, io.EOF) && done == 0:
			return 0, failed("the server sent no bytes")
		case errors.Is(readErr, io.EOF):
			return done, nil
		case readErr != nil:
			return done, readError{readErr}
		case !fast:
			return done, failed(fmt.Sprintf("the server sends fewer than %d bytes per second", c.opt.minRate))
		}
		silence.Reset(c.opt.idleTimeout)
	}
}

// translate turns an error of the transfer into a fault. The fault of a refused address or
// redirect is in the chain of the error. A malformed target of a redirect is not a mistake of
// the caller. ctx is the context of the caller, without the deadlines of this package.
func translate(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("egress: %w", context.Cause(ctx))
	}
	if f := fault.Of(err); f != nil && f.Code != fault.ValidationFailed {
		return f
	}
	// The url.Error of http.Client repeats the URL. Its query may be a secret, and causes are
	// logged.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var late interface{ Timeout() bool }
	if errors.As(err, &late) && late.Timeout() || errors.Is(err, context.Canceled) {
		return failed("the server was too slow").WithCause(err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return failed("the connection ended before the last byte").WithCause(err)
	}
	return failed("the server could not be reached").WithCause(err)
}
