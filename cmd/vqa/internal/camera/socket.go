package camera

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"vqa/streaming/message"
)

const (
	// dialTime bounds a connection, writeTime a message.
	dialTime, writeTime = 15 * time.Second, 10 * time.Second
	// reopenTime is the time in which a cut socket must be open again, with one attempt each
	// reopenEvery.
	reopenTime, reopenEvery = 20 * time.Second, time.Second
	// maxMessage bounds a message of the service, in bytes.
	maxMessage = 1 << 20
)

// Received is a message of the service.
type Received struct {
	// Message is nil for a type that this program does not know.
	Message message.Server
	// Raw is its JSON.
	Raw json.RawMessage
}

// socket is the signaling of a stream. One goroutine writes, another one reads.
type socket struct {
	conn *websocket.Conn
	// messages is closed when the socket is cut; err is set before.
	messages chan Received
	err      error
}

// dial opens the socket and joins. ctx bounds this. The socket is cut when life ends.
func dial(ctx, life context.Context, o Options) (*socket, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the server gave no valid URL for signaling")
	}
	token, err := o.Token(ctx)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("token", token)
	u.RawQuery = q.Encode()
	opening, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, response, err := websocket.Dial(opening, u.String(), nil)
	if response != nil && response.Body != nil {
		defer func() { _ = response.Body.Close() }()
	}
	if err != nil {
		// The error repeats the URL, which has the token.
		if response != nil {
			return nil, fmt.Errorf("the server refused the signaling connection: %s", response.Status)
		}
		return nil, fmt.Errorf("cannot reach the signaling of the server at %s", u.Host)
	}
	conn.SetReadLimit(maxMessage)
	s := &socket{conn: conn, messages: make(chan Received)}
	if err := s.write(ctx, message.Join{}); err != nil {
		_ = conn.CloseNow()
		return nil, err
	}
	go s.readAll(life)
	return s, nil
}

// readAll passes the messages on until the socket is cut or ctx ends.
func (s *socket) readAll(ctx context.Context) {
	defer close(s.messages)
	for {
		_, raw, err := s.conn.Read(ctx)
		if err != nil {
			s.err = err
			return
		}
		m, err := message.DecodeServer(raw)
		if err != nil {
			s.err = err
			return
		}
		select {
		case s.messages <- Received{Message: m, Raw: raw}:
		case <-ctx.Done():
			s.err = ctx.Err()
			return
		}
	}
}

func (s *socket) write(ctx context.Context, m message.Client) error {
	raw, err := message.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, raw)
}

func (s *socket) close() { _ = s.conn.CloseNow() }

// name is a source without the password that its URL may have.
func name(source string) string {
	if u, err := url.Parse(source); err == nil && u.Host != "" {
		return u.Redacted()
	}
	return source
}
