package signal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/streaming/message"
)

// Events serves the messages of a stream as server-sent events: the event is the type of the message and its
// data is the message. The id of a result is its seq, and Last-Event-ID continues after it. The end of the
// stream is the last event. A request that is refused has no response yet and returns an error.
func (s *Server) Events(w http.ResponseWriter, r *http.Request, streamID string) error {
	after, err := lastSeq(r)
	if err != nil {
		return err
	}
	place, err := s.place(r.Context(), streamID)
	if err != nil {
		return err
	}
	if place.Session == nil && place.Node != "" && place.Ended == "" && place.Queued == nil {
		return s.forward(w, r, place.Node)
	}
	ctx, leave, err := s.enter(r.Context(), &s.readers, streamID)
	if err != nil {
		return err
	}
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // turns off buffering in nginx
	w.WriteHeader(http.StatusOK)
	e := &eventWriter{server: s, out: w, control: http.NewResponseController(w)}
	defer func() { _ = e.control.SetWriteDeadline(time.Time{}) }() // the connection can get another request
	if err := e.follow(ctx, streamID, place, after); err != nil {
		s.Logger.Debug("an event stream of a stream ended early", "stream_id", streamID, "error", err)
	}
	return nil
}

// lastSeq returns the number of the last result that the client has.
func lastSeq(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		return 0, nil
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seq < 0 {
		return 0, fault.Invalid(fault.Violation{Param: "Last-Event-ID", Code: fault.Format, Message: "must be the seq of a result"})
	}
	return seq, nil
}

// eventWriter writes server-sent events.
type eventWriter struct {
	server  *Server
	out     io.Writer
	control *http.ResponseController
}

// send writes a text, within Options.Write.
func (e *eventWriter) send(text string) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.server.Write)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := io.WriteString(e.out, text); err != nil {
		return err
	}
	return e.control.Flush()
}

func (e *eventWriter) event(m message.Server) error {
	data, err := message.Encode(m)
	if err != nil {
		return err
	}
	id := ""
	if r, is := m.(message.Result); is {
		id = fmt.Sprintf("id: %d\n", r.Seq)
	}
	return e.send(fmt.Sprintf("event: %s\n%sdata: %s\n\n", m.Type(), id, data))
}

// errMoved ends an event stream. The client connects again and continues on the new owner.
var errMoved = errors.New("signal: the stream is on another node")

// follow writes events until the end of the stream.
func (e *eventWriter) follow(ctx context.Context, streamID string, place Place, after int64) error {
	if err := e.send("retry: 1000\n\n"); err != nil {
		return err
	}
	told, beat := 0, e.server.Now()
	for {
		switch {
		case place.Ended != "":
			if place.Refused != nil {
				if err := e.event(message.ErrorOf(place.Refused)); err != nil {
					return err
				}
			}
			return e.event(message.ServerEnd{Reason: place.Ended})
		case place.Session != nil:
			return e.attend(ctx, place.Session, after)
		case place.Queued != nil && place.Queued.Position != told:
			told = place.Queued.Position
			if err := e.event(*place.Queued); err != nil {
				return err
			}
		case place.Queued == nil && place.Node != "":
			return errMoved
		case e.server.Now().Sub(beat) >= e.server.Heartbeat:
			beat = e.server.Now()
			if err := e.send(":\n\n"); err != nil {
				return err
			}
		}
		if !sleep(ctx, e.server.Poll) {
			return context.Cause(ctx)
		}
		var err error
		if place, err = e.server.place(ctx, streamID); err != nil {
			return err
		}
	}
}

// attend writes the messages of a session.
func (e *eventWriter) attend(ctx context.Context, s Session, after int64) error {
	sub := s.Subscribe(after)
	defer sub.Close()
	ctx, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	out := make(chan heard)
	others.Go(func() { listen(ctx, sub, out) })
	beat := time.NewTicker(e.server.Heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case h := <-out:
			if h.err != nil {
				return h.err
			}
			err = e.event(h.message)
			if _, end := h.message.(message.ServerEnd); end {
				return err
			}
		case <-beat.C:
			err = e.send(":\n\n")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// Forward passes a request on to another node, with the errors of forward.
func (s *Server) Forward(w http.ResponseWriter, r *http.Request, node string) error {
	return s.forward(w, r, node)
}

// passedHeaders are the headers of a client's request that its stream's node needs. The others stay here: they may have a
// credential, as the query may.
var passedHeaders = []string{"Accept", "Content-Type", "If-Match", "Last-Event-Id"}

// forward passes a request on to the node that owns the stream. Error: capacity_exhausted when that node
// has passed it on itself.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, node string) error {
	if r.Header.Get(PassedOn) != "" {
		return fault.New(fault.CapacityExhausted, "The stream is moving to another node. Try again.").WithRetryAfter(1)
	}
	target, err := url.Parse(node + r.URL.EscapedPath())
	if err != nil {
		return fmt.Errorf("signal: the URL of a node: %w", err)
	}
	header := http.Header{}
	for _, name := range passedHeaders {
		if values := r.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}
	if err := s.Sign(header, r, r.Method, target.String()); err != nil {
		return err
	}
	var failed error
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host, p.Out.Header = target, "", header
		},
		ModifyResponse: func(response *http.Response) error {
			for name := range w.Header() { // such as the request id, which this node has set
				response.Header.Del(name)
			}
			return nil
		},
		Transport:     s.Client.Transport,
		FlushInterval: -1,
		ErrorHandler:  func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r)
	if failed != nil {
		return fault.New(fault.DBUnavailable, "The node of the stream cannot be reached. Try again later.").WithRetryAfter(1).WithCause(failed)
	}
	return nil
}
