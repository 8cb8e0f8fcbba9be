package signal

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"vqa/streaming/message"
)

// passOn connects the client with the node that owns the stream. It returns nil when that node is gone or is
// not the owner.
func (c *socket) passOn(ctx context.Context, node string) *verdict {
	remote, err := c.dial(ctx, node)
	if err != nil {
		if c.lost.IsZero() { // once, although it is tried again
			c.server.Logger.Warn("cannot reach the node of a stream", "stream_id", c.streamID, "node", node, "error", err)
		}
		return c.wait(ctx)
	}
	defer func() { _ = remote.CloseNow() }()
	if err := c.writeRaw(ctx, remote, []byte(`{"type":"join"}`)); err != nil {
		return c.wait(ctx)
	}
	return c.copy(ctx, remote)
}

// dial connects to another node. The client's headers and query stay here: they have the credential.
func (c *socket) dial(ctx context.Context, node string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.Call)
	defer cancel()
	header, target := http.Header{}, node+c.request.URL.EscapedPath()
	if err := c.server.Sign(header, c.request, http.MethodGet, target); err != nil {
		return nil, err
	}
	// The library closes the body of a response without an upgrade.
	conn, _, err := websocket.Dial(ctx, target, &websocket.DialOptions{HTTPClient: c.server.Client, HTTPHeader: header}) //nolint:bodyclose // see above
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(message.MaxOffer)
	return conn, nil
}

// wait waits for Options.Poll, before the place is read again.
func (c *socket) wait(ctx context.Context) *verdict {
	if c.lost.IsZero() {
		c.lost = c.server.Now()
	}
	if c.server.Now().Sub(c.lost) > c.server.Lost {
		return errLost
	}
	return c.pause(ctx)
}

// copy passes messages on in both directions.
func (c *socket) copy(ctx context.Context, remote *websocket.Conn) *verdict {
	reading, stop := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stop(errGone)
	from := make(chan incoming)
	others.Go(func() { receive(reading, remote, from) })
	others.Go(func() { c.ping(reading, remote, stop) })
	for {
		var v *verdict
		select {
		case in := <-c.incoming:
			var m message.Client
			if m, v = c.check(ctx, in); m != nil && c.writeRaw(ctx, remote, in.raw) != nil {
				return c.wait(ctx)
			}
		case in := <-from:
			if in.err != nil {
				return c.parted(ctx, in.err)
			}
			c.lost = time.Time{}
			if err := c.writeRaw(ctx, c.conn, in.raw); err != nil {
				v = errGone
			}
		case <-ctx.Done():
			v = verdictOf(ctx)
		case <-reading.Done():
			return c.wait(ctx) // the node does not answer pings
		}
		if v != nil {
			return v
		}
	}
}

// receive passes the messages of a node on, until the connection or ctx ends.
func receive(ctx context.Context, remote *websocket.Conn, to chan<- incoming) {
	for {
		_, raw, err := remote.Read(ctx)
		select {
		case to <- incoming{raw: raw, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// parted returns how to close the socket of a client when the node has closed its side.
func (c *socket) parted(ctx context.Context, err error) *verdict {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		switch closed.Code {
		case websocket.StatusNormalClosure, websocket.StatusPolicyViolation, websocket.StatusMessageTooBig, statusReplaced:
			return closing(closed.Code, reasonOf(closed.Reason), nil)
		default: // the node stops or is not the owner
		}
	}
	return c.wait(ctx)
}
