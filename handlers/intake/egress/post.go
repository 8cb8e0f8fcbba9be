package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"vqa/domain/fault"
)

// The limits of a Poster.
const (
	postConnect = 3 * time.Second // DNS and TCP
	postTLS     = 3 * time.Second
	postTotal   = 10 * time.Second // docs/contract.md#delivery-3
	// postIdle is how long an unused connection stays open, postIdlePerHost how many of one host,
	// and postIdleConns how many in all. A host may have the endpoints of many accounts: with 2 for
	// each host, TLS handshakes took most of the time of a burst.
	postIdle        = 30 * time.Second
	postIdlePerHost = 256
	postIdleConns   = 1000
	// postMaxAge is how long connections are reused. Then the name is resolved again.
	postMaxAge = 5 * time.Minute
	// postBody bounds the reading of a response after its header. The status alone decides, and a body that
	// drips would hold a place of the node until the end of postTotal.
	postBody = time.Second
	// postDrain bounds the bytes of a response that are read so that its connection can be used
	// again. A new connection costs less than reading more.
	postDrain = 16 << 10
	// postSnippet is the part of a response that is kept, in bytes.
	postSnippet = 1 << 10
)

// Poster sends requests to URLs that a caller named, such as webhooks. It passes the same checks of
// addresses as Client, and reuses connections. It is safe for concurrent use.
type Poster struct {
	client *Client
	now    func() time.Time
	total  time.Duration

	mu             sync.Mutex
	public, listed *http.Transport
	opened         time.Time
}

// NewPoster returns a poster with the guards of c. now returns the time.
func (c *Client) NewPoster(now func() time.Time) *Poster {
	return &Poster{client: c, now: now, total: postTotal}
}

// Response is the response to a request.
type Response struct {
	Status int
	// RetryAfter is the value of the header Retry-After, or empty.
	RetryAfter string
	// Snippet is the beginning of the body, at most 1 KiB of valid UTF-8.
	Snippet string
}

// PostError says why there was no response. Its text is for the receiver's owner: it has no resolved
// address.
type PostError struct {
	Text  string
	cause error
}

func (e *PostError) Error() string { return e.Text }

// Unwrap returns the cause, for the log.
func (e *PostError) Unwrap() error { return e.cause }

// Post sends a body and returns the response. It follows no redirects. It takes at most 10 s in all,
// 3 s of them to connect, 3 s for the TLS
// handshake and 1 s for the body of the response. When ctx ends, the error wraps its cause.
// All other errors are a *PostError.
//
// The transport sends a request a second time only when its connection was used before and ended
// before the first byte of a response, because the receiver may have closed it while it was idle.
func (p *Poster) Post(ctx context.Context, rawURL string, header http.Header, body []byte) (Response, error) {
	t, err := p.client.parse(rawURL, webhookPorts)
	if err != nil {
		return Response{}, refused(err)
	}
	limited, cancel := context.WithTimeout(ctx, p.total)
	defer cancel()
	var phase phase
	req, err := http.NewRequestWithContext(phase.trace(limited), http.MethodPost, t.url.String(), bytes.NewReader(body))
	if err != nil {
		return Response{}, &PostError{"the URL is malformed", err}
	}
	maps.Copy(req.Header, header)
	// A key without a value is not sent. It permits the transport to repeat a POST on a connection
	// that was stale. Without it, 313 of 1,500 requests failed in a trial whose receiver closed
	// idle connections.
	req.Header["Idempotency-Key"] = nil
	resp, err := p.transport(t.allowed).RoundTrip(req)
	if err != nil {
		return Response{}, phase.explain(ctx, err)
	}
	out := Response{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	enough := time.AfterFunc(postBody, cancel)
	defer enough.Stop()
	out.Snippet = drain(resp.Body)
	_ = resp.Body.Close() // it closes the connection unless the body was read to its end
	return out, nil
}

// Close closes the idle connections.
func (p *Poster) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeIdle()
}

func (p *Poster) closeIdle() {
	if p.public != nil {
		p.public.CloseIdleConnections()
		p.listed.CloseIdleConnections()
	}
}

// transport returns the transport for public or allowed targets. A transport is replaced after
// postMaxAge. Connections of the old one end with their request, or after postIdle.
func (p *Poster) transport(allowed bool) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.public == nil || now.Sub(p.opened) >= postMaxAge || now.Before(p.opened) {
		p.closeIdle()
		p.public, p.listed, p.opened = p.newTransport(p.client.public), p.newTransport(p.client.listed), now
	}
	if allowed {
		return p.listed
	}
	return p.public
}

// newTransport returns a transport that reuses connections and trusts the same authorities.
func (p *Poster) newTransport(base *http.Transport) *http.Transport {
	t := base.Clone()
	t.DisableKeepAlives = false
	t.TLSHandshakeTimeout = postTLS
	t.ResponseHeaderTimeout = 0 // the request has a deadline
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = postIdleConns, postIdlePerHost, postIdle
	// HTTP/1.1 alone: one connection carries one request, so a slow response delays no other.
	t.ForceAttemptHTTP2, t.TLSNextProto = false, map[string]func(string, *tls.Conn) http.RoundTripper{}
	t.DialContext = p.client.dialer(postConnect, webhookPorts)
	return t
}

// drain reads the rest of a short body and returns its beginning as text.
func drain(body io.Reader) string {
	head, err := io.ReadAll(io.LimitReader(body, postSnippet))
	if err == nil && len(head) == postSnippet {
		_, _ = io.CopyN(io.Discard, body, postDrain-postSnippet)
	}
	text := strings.ToValidUTF8(string(head), "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD") // Postgres stores no NUL in a text
	for len(text) > postSnippet || !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// phase is how far a request came.
type phase struct{ at atomic.Int32 }

const (
	phaseResolve = iota
	phaseConnect
	phaseTLS
	phaseSend
	phaseWait
)

var phaseNames = [...]string{
	"the name of the host could not be resolved", "the connection could not be opened", "the TLS handshake failed",
	"the request could not be sent", "there was no response",
}

var phaseTimeouts = [...]string{
	"timed out while resolving the name of the host", "timed out while connecting", "timed out during the TLS handshake",
	"timed out while sending the request", "timed out while waiting for the response",
}

func (p *phase) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart:      func(string, string) { p.at.Store(phaseConnect) },
		TLSHandshakeStart: func() { p.at.Store(phaseTLS) },
		GotConn:           func(httptrace.GotConnInfo) { p.at.Store(phaseSend) },
		WroteRequest:      func(httptrace.WroteRequestInfo) { p.at.Store(phaseWait) },
	})
}

// explain returns the error of a request that got no response.
func (p *phase) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("egress: %w", context.Cause(ctx))
	}
	if fault.Of(err) != nil {
		return refused(err)
	}
	at := p.at.Load()
	var late interface{ Timeout() bool }
	if errors.As(err, &late) && late.Timeout() {
		return &PostError{phaseTimeouts[at], err}
	}
	text := phaseNames[at]
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)):
		text = "the certificate of the server is not valid: " + certificateFault(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text += ": the server closed the connection"
	case at == phaseWait && !errors.As(err, new(*net.OpError)):
		text = "the response is not valid HTTP, or its headers are longer than 64 KiB"
	}
	return &PostError{text, err}
}

// refused says why a URL may not be called.
func refused(err error) error {
	f := fault.Of(err)
	if f == nil {
		return &PostError{"the URL is not allowed", err}
	}
	return &PostError{f.Message, err}
}

// certificateFault says what is wrong with a certificate. It leaves out the names in it, which may be
// addresses.
func certificateFault(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "its authority is unknown"
	case errors.As(err, new(x509.HostnameError)):
		return "it belongs to another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired or is not valid yet"
	default:
		return "it cannot be verified"
	}
}
