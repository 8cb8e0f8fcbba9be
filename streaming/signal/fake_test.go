package signal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/signal"
)

// patience bounds the wait for anything, on a slow machine.
const patience = 30 * time.Second

const streamID = "st_01J00000000000000000000000"

// session is a stream on its owner that keeps what it was asked for.
type session struct {
	answer func(offer string) (string, error)

	mu         sync.Mutex
	sockets    int
	joins      int
	offers     []string // via + " " + the offer
	candidates []message.Candidate
	reports    []message.ICEError
	prompts    []string
	results    []message.Result
	queues     map[*queue]bool
	end        *message.ServerEnd
	done       chan struct{}
}

func newSession() *session {
	return &session{
		answer: func(offer string) (string, error) { return "answer to " + offer, nil },
		queues: map[*queue]bool{}, done: make(chan struct{}),
	}
}

func (s *session) Answer(_ context.Context, via, offer string) (string, error) {
	s.mu.Lock()
	s.offers = append(s.offers, via+" "+offer)
	s.mu.Unlock()
	return s.answer(offer)
}

func (s *session) AddCandidate(c message.Candidate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.candidates = append(s.candidates, c)
	return nil
}

func (s *session) Report(errors ...message.ICEError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, errors...)
}

func (s *session) UpdatePrompt(_ context.Context, prompt string) error {
	if prompt == "broken" {
		return errors.New("secret")
	}
	s.mu.Lock()
	s.prompts = append(s.prompts, prompt)
	s.mu.Unlock()
	s.send(message.PromptUpdated{Prompt: prompt})
	return nil
}

func (s *session) End(context.Context) error {
	s.finish(stream.Completed)
	return nil
}

func (s *session) Joined() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets++
	s.joins++
}

func (s *session) Left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets--
}

func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Subscribe(after int64) signal.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &queue{session: s, out: make(chan message.Server, 1000)}
	for _, r := range s.results {
		if after >= 0 && r.Seq > after {
			q.out <- r
		}
	}
	if s.end != nil {
		q.out <- *s.end
	}
	if s.over() {
		close(q.out)
	}
	s.queues[q] = true
	return q
}

func (s *session) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// send sends a message to all subscribers.
func (s *session) send(m message.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over() {
		return
	}
	if r, is := m.(message.Result); is {
		s.results = append(s.results, r)
	}
	for q := range s.queues {
		q.out <- m
	}
}

// finish ends the session, with a message when reason is set.
func (s *session) finish(reason stream.EndReason) {
	if reason != "" {
		s.send(message.ServerEnd{Reason: reason})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over() {
		return
	}
	close(s.done)
	for q := range s.queues {
		close(q.out)
	}
}

// read returns a value of the session.
func read[T any](s *session, get func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return get()
}

// queue is a subscription.
type queue struct {
	session *session
	out     chan message.Server
}

func (q *queue) Next(ctx context.Context) (message.Server, error) {
	select {
	case m, ok := <-q.out:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *queue) Close() {
	q.session.mu.Lock()
	defer q.session.mu.Unlock()
	delete(q.session.queues, q)
}

// streams are the streams of a service.
type streams struct {
	mu     sync.Mutex
	places map[string]signal.Place
	err    error
}

func (s *streams) Place(_ context.Context, id string) (signal.Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.places[id]
	if !ok && s.err == nil {
		return p, fault.NotFound("id", id)
	}
	return p, s.err
}

func (s *streams) End(_ context.Context, id string) error {
	s.put(id, signal.Place{Ended: stream.Canceled})
	return nil
}

func (s *streams) put(id string, p signal.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[id] = p
}

func (s *streams) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// node is a service with its HTTP server.
type node struct {
	t       testing.TB
	streams *streams
	server  *signal.Server
	http    *httptest.Server

	mu   sync.Mutex
	last *http.Request // the latest one
}

// newNode returns a node whose times are short. change may adapt its options.
func newNode(t testing.TB, change func(*signal.Options)) *node {
	t.Helper()
	n := &node{t: t, streams: &streams{places: map[string]signal.Place{}}}
	o := signal.Options{Streams: n.streams, Join: patience, Poll: 5 * time.Millisecond, Lost: patience, Heartbeat: 10 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	n.server = signal.New(o)
	mux := http.NewServeMux()
	for path, serve := range map[string]func(http.ResponseWriter, *http.Request, string) error{
		"/v1/streams/{id}/signal": n.server.Socket, "/v1/streams/{id}/whip": n.server.WHIP, "/v1/streams/{id}/events": n.server.Events,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			n.last = r.Clone(context.WithoutCancel(r.Context()))
			n.mu.Unlock()
			if err := serve(w, r, r.PathValue("id")); err != nil {
				refuse(w, err)
			}
		})
	}
	n.http = httptest.NewServer(mux)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, n.server.Close(ctx))
		n.http.Close()
	})
	return n
}

// refuse answers as the edge of the API does, in short.
func refuse(w http.ResponseWriter, err error) {
	f, status := fault.Of(err), 0
	if f == nil {
		f = fault.New(fault.InternalError, "")
	}
	status = fault.Lookup(f.Code).Status
	var special interface{ HTTPStatus() int }
	if errors.As(err, &special) {
		status = special.HTTPStatus()
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s: %s", f.Code, f.Message)
}

// url returns the address of an operation of the stream.
func (n *node) url(operation string) string {
	return n.http.URL + "/v1/streams/" + streamID + "/" + operation
}

// open puts a session on the node.
func (n *node) open() *session {
	s := newSession()
	n.streams.put(streamID, signal.Place{Session: s, Ready: ready()})
	return s
}

func ready() message.Ready {
	name, secret := `1:"x"`, "s"
	return message.Ready{
		ICEServers: []message.ICEServer{{URLs: []string{"turn:a:1", "turn:a:1?transport=tcp"}, Username: &name, Credential: &secret}, {URLs: []string{"stun:b:2"}}},
		Limits:     message.Limits{MaxSessionS: 3600, WarnAtRemainingS: 60},
	}
}

// client is the socket of a client.
type client struct {
	t    testing.TB
	conn *websocket.Conn
}

func (n *node) dial() *client {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, n.url("signal")+"?token=svcct_x", nil) //nolint:bodyclose // the library closes it
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(message.MaxOffer)
	return &client{n.t, conn}
}

// join returns a socket that has joined and read ready.
func (n *node) join() *client {
	n.t.Helper()
	c := n.dial()
	c.send(`{"type":"join"}`)
	require.Equal(n.t, ready(), c.next())
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	require.NoError(c.t, c.conn.Write(ctx, websocket.MessageText, []byte(text)))
}

// next returns the next message.
func (c *client) next() message.Server {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, raw, err := c.conn.Read(ctx)
	require.NoError(c.t, err)
	m, err := message.DecodeServer(raw)
	require.NoError(c.t, err, string(raw))
	require.NotNil(c.t, m, string(raw))
	return m
}

// refused expects an error with a text.
func (c *client) refused(code fault.Code, text string) {
	c.t.Helper()
	m, is := c.next().(message.Error)
	require.True(c.t, is)
	require.Equal(c.t, code, m.Code)
	require.Contains(c.t, m.Message, text)
}

// closed expects a close. It skips the messages before.
func (c *client) closed(code websocket.StatusCode, reason string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		_, _, err := c.conn.Read(ctx)
		if err == nil {
			continue
		}
		require.NoError(c.t, ctx.Err())
		var closed websocket.CloseError
		require.ErrorAs(c.t, err, &closed)
		require.Equal(c.t, code, closed.Code)
		require.Contains(c.t, closed.Reason, reason)
		return
	}
}

// wait waits until a condition holds.
func wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, "never happened: "+what)
		}
	}
}

var long = strings.Repeat("x", message.MaxOther)
