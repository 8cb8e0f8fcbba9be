package signal

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"vqa/domain/fault"
	"vqa/streaming/message"
)

const (
	// PassedOn is the header of a request that another node has passed on. The caller has removed it from requests of
	// clients.
	PassedOn = "Vqa-Passed-On" //nolint:gosec // the name of a header, not a credential
	// statusReplaced is the close code of a socket that a newer one replaced. RFC 6455 leaves codes from
	// 4000 on to applications.
	statusReplaced websocket.StatusCode = 4001
	// maxRefused is the number of malformed messages in a row that closes a socket.
	maxRefused = 10
)

// verdict says how to close a socket. It is the cause of the end of its context.
type verdict struct {
	code   websocket.StatusCode
	reason string
	// say is sent before the close, or nil.
	say *message.Error
}

// Error implements error.
func (v *verdict) Error() string { return "signal: " + v.reason }

func closing(code websocket.StatusCode, reason string, f *fault.Fault) *verdict {
	v := &verdict{code: code, reason: reason}
	if f != nil {
		say := message.ErrorOf(f)
		v.say = &say
	}
	return v
}

// abrupt is the code of a socket that is cut off without a close frame.
const abrupt websocket.StatusCode = -1

var (
	errGoingAway = closing(websocket.StatusServiceRestart, "the node is shutting down", nil)
	errReplaced  = closing(statusReplaced, "replaced by a newer connection",
		fault.New(fault.ResourceConflict, "A newer connection of this stream replaced this one."))
	errTooFast = closing(websocket.StatusPolicyViolation, "too many messages",
		fault.New(fault.RateLimitExceeded, "Too many messages. Connect again and send fewer."))
	errNotJoined = closing(websocket.StatusPolicyViolation, "no join in time",
		fault.New(fault.ValidationFailed, "Send the message join right after the connection was opened."))
	errTooSlow = closing(websocket.StatusPolicyViolation, "too slow",
		fault.New(fault.RateLimitExceeded, "Messages were lost because they were read too slowly. Connect again."))
	errLost = closing(websocket.StatusTryAgainLater, "the stream cannot be reached",
		fault.New(fault.DBUnavailable, "The stream cannot be reached. Connect again later."))
	errRefused = closing(websocket.StatusPolicyViolation, "too many malformed messages", nil)
	errGone    = closing(abrupt, "the connection is lost", nil)
)

// Socket serves a WebSocket of a stream, until it is closed. It is closed when the context of the request ends with a
// *fault.Fault as its cause. A request that is refused before the upgrade
// has no response yet and returns an error.
func (s *Server) Socket(w http.ResponseWriter, r *http.Request, streamID string) error {
	if err := checkUpgrade(r); err != nil {
		return err
	}
	if _, err := s.place(r.Context(), streamID); err != nil {
		return err
	}
	// The context of a hijacked request says nothing about its connection.
	ctx, leave, err := s.enter(context.WithoutCancel(r.Context()), &s.sockets, streamID)
	if err != nil {
		return err
	}
	defer leave()
	// The caller has checked the origin. Compression costs 1.2 MB for each socket.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		s.Logger.Debug("a socket of a stream was not accepted", "stream_id", streamID, "error", err)
		return nil // Accept has answered
	}
	conn.SetReadLimit(message.MaxOffer)
	c := &socket{server: s, conn: conn, streamID: streamID, request: r, incoming: make(chan incoming, s.Burst)}
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer context.AfterFunc(r.Context(), func() {
		if f := fault.Of(context.Cause(r.Context())); f != nil {
			c.cancel(closing(websocket.StatusPolicyViolation, "the credential is not valid any more", f))
		}
	})()
	c.serve(ctx)
	return nil
}

// checkUpgrade refuses a request that is not the handshake of a WebSocket.
func checkUpgrade(r *http.Request) error {
	has := func(header, token string) bool {
		return slices.ContainsFunc(r.Header.Values(header), func(v string) bool {
			return slices.ContainsFunc(strings.Split(v, ","), func(part string) bool { return strings.EqualFold(strings.TrimSpace(part), token) })
		})
	}
	if r.Method != http.MethodGet || !has("Connection", "upgrade") || !has("Upgrade", "websocket") {
		return fault.New(fault.ValidationFailed, "This is the signaling WebSocket of a stream. Connect with a WebSocket client.")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Sec-WebSocket-Key")))
	if err != nil || len(key) != 16 || len(r.Header.Values("Sec-WebSocket-Key")) != 1 || r.Header.Get("Sec-WebSocket-Version") != "13" || !r.ProtoAtLeast(1, 1) {
		return fault.New(fault.ValidationFailed, "The handshake of the WebSocket is not valid. Use version 13 of the protocol.")
	}
	return nil
}

// socket is a WebSocket of a client.
type socket struct {
	server   *Server
	conn     *websocket.Conn
	streamID string
	request  *http.Request
	cancel   context.CancelCauseFunc
	incoming chan incoming
	// refused is the number of malformed messages in a row.
	refused int
	// lost is when the owner of the stream was first out of reach, or zero.
	lost time.Time
}

// incoming is a message of the client, or the reason why it is malformed.
type incoming struct {
	raw     []byte
	message message.Client
	err     error
}

// serve returns when the connection is closed and its goroutines have ended.
func (c *socket) serve(ctx context.Context) {
	var others sync.WaitGroup
	others.Go(c.read)
	others.Go(func() { c.ping(ctx, c.conn, c.cancel) })
	v := c.converse(ctx)
	if v.say != nil {
		_ = c.write(context.WithoutCancel(ctx), *v.say) // the close says it too
	}
	if v.code == abrupt {
		_ = c.conn.CloseNow()
	} else {
		_ = c.conn.Close(v.code, v.reason) // the client may be gone
	}
	c.cancel(errGone)
	others.Wait()
	c.server.Logger.Debug("a socket of a stream is closed", "stream_id", c.streamID, "reason", v.reason)
}

// read reads messages until the connection is closed. Its context does not end, because that would cut the
// connection off without a close frame.
func (c *socket) read() {
	b := newBucket(c.server.Rate, c.server.Burst, c.server.Now())
	for {
		kind, raw, err := c.conn.Read(context.Background())
		if err != nil {
			c.cancel(errGone)
			return
		}
		in := incoming{raw: raw}
		if kind == websocket.MessageText {
			in.message, in.err = message.Decode(raw)
		} else {
			in.err = fault.New(fault.ValidationFailed, "Send text messages.")
		}
		if !b.take(c.server.Now()) {
			c.cancel(errTooFast)
			return
		}
		select {
		case c.incoming <- in:
		default:
			c.cancel(errTooFast) // the session is slower than the client
			return
		}
	}
}

// ping cuts a connection off when its other end is gone.
func (c *socket) ping(ctx context.Context, conn *websocket.Conn, cancel context.CancelCauseFunc) {
	for sleep(ctx, c.server.Ping) {
		within, done := context.WithTimeout(ctx, c.server.Pong)
		err := conn.Ping(within)
		done()
		if err != nil && ctx.Err() == nil {
			cancel(errGone)
			return
		}
	}
}

// write sends a message to the client.
func (c *socket) write(ctx context.Context, m message.Message) error {
	raw, err := message.Encode(m)
	if err != nil {
		return err
	}
	return c.writeRaw(ctx, c.conn, raw)
}

// writeRaw sends a message to the client or to another node, within Options.Write. The end of ctx does not
// stop it, because that would cut the connection off.
func (c *socket) writeRaw(ctx context.Context, to *websocket.Conn, raw []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.server.Write)
	defer cancel()
	return to.Write(ctx, websocket.MessageText, raw)
}

// verdictOf returns how to close a socket whose context has ended.
func verdictOf(ctx context.Context) *verdict {
	var v *verdict
	if errors.As(context.Cause(ctx), &v) {
		return v
	}
	return errGone
}
