package signal

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"vqa/domain/fault"
	"vqa/streaming/message"
)

// converse leads the conversation with the client and returns how to close the socket.
func (c *socket) converse(ctx context.Context) *verdict {
	if v := c.awaitJoin(ctx); v != nil {
		return v
	}
	for {
		place, v := c.locate(ctx)
		if v != nil {
			return v
		}
		if place.Session != nil {
			v = c.attend(ctx, place)
		} else {
			v = c.passOn(ctx, place.Node)
		}
		if v != nil {
			return v
		}
		// The session or the node went away without an end of the stream.
	}
}

// awaitJoin returns nil after the message join.
func (c *socket) awaitJoin(ctx context.Context) *verdict {
	late := time.NewTimer(c.server.Join)
	defer late.Stop()
	for {
		select {
		case in := <-c.incoming:
			m, v := c.check(ctx, in)
			switch m.(type) {
			case message.Join:
				return nil
			case message.Ping:
				v = c.reply(ctx, message.Pong{})
			case nil:
			default:
				v = c.reply(ctx, message.ErrorOf(fault.New(fault.ValidationFailed, "Send the message join first.")))
			}
			if v != nil {
				return v
			}
		case <-late.C:
			return errNotJoined
		case <-ctx.Done():
			return verdictOf(ctx)
		}
	}
}

// check returns the message of the client, or nil when it is malformed and was refused.
func (c *socket) check(ctx context.Context, in incoming) (message.Client, *verdict) {
	if in.err != nil {
		return nil, c.refuse(ctx, in.err)
	}
	c.refused = 0
	return in.message, nil
}

// refuse answers a malformed message.
func (c *socket) refuse(ctx context.Context, err error) *verdict {
	c.refused++
	if v := c.reply(ctx, message.ErrorOf(err)); v != nil {
		return v
	}
	if c.refused >= maxRefused {
		return errRefused
	}
	return nil
}

// reply sends a message to the client.
func (c *socket) reply(ctx context.Context, m message.Message) *verdict {
	if err := c.write(ctx, m); err != nil {
		if ctx.Err() != nil {
			return verdictOf(ctx)
		}
		c.server.Logger.Debug("cannot write to the socket of a stream", "stream_id", c.streamID, "error", err)
		return errGone
	}
	return nil
}

// locate returns the place of a stream that has an owner. Until then it tells the client how long it waits.
func (c *socket) locate(ctx context.Context) (Place, *verdict) {
	told, failed, reached := 0, false, c.server.Now()
	for {
		place, err := c.server.place(ctx, c.streamID)
		switch {
		case ctx.Err() != nil:
			return Place{}, verdictOf(ctx)
		case fault.Has(err, fault.ResourceNotFound):
			return Place{}, closing(websocket.StatusPolicyViolation, "no such stream", fault.Of(err))
		case err != nil:
			if !failed {
				c.server.Logger.Warn("cannot read the place of a stream", "stream_id", c.streamID, "error", err)
			}
		case place.Ended != "":
			if place.Refused != nil {
				if v := c.reply(ctx, message.ErrorOf(place.Refused)); v != nil {
					return Place{}, v
				}
			}
			return Place{}, c.end(ctx, message.ServerEnd{Reason: place.Ended})
		case place.Queued != nil:
			reached = c.server.Now()
			if told != place.Queued.Position {
				told = place.Queued.Position
				if v := c.reply(ctx, *place.Queued); v != nil {
					return Place{}, v
				}
			}
		case place.Session != nil, place.Node != "" && c.request.Header.Get(PassedOn) == "":
			return place, nil
		case place.Node != "":
			// The other node asks again.
			return Place{}, closing(websocket.StatusTryAgainLater, "another node owns the stream", nil)
		}
		failed = err != nil
		if c.server.Now().Sub(reached) > c.server.Lost {
			return Place{}, errLost
		}
		if v := c.pause(ctx); v != nil {
			return Place{}, v
		}
	}
}

// pause waits for Options.Poll. The client can end its stream meanwhile.
func (c *socket) pause(ctx context.Context) *verdict {
	poll := time.NewTimer(c.server.Poll)
	defer poll.Stop()
	for {
		select {
		case in := <-c.incoming:
			if v := c.obeyWaiting(ctx, in); v != nil {
				return v
			}
		case <-poll.C:
			return nil
		case <-ctx.Done():
			return verdictOf(ctx)
		}
	}
}

// obeyWaiting does what the client of a stream without an owner asks for.
func (c *socket) obeyWaiting(ctx context.Context, in incoming) *verdict {
	m, v := c.check(ctx, in)
	switch m.(type) {
	case nil:
		return v
	case message.Join:
		return nil
	case message.Ping:
		return c.reply(ctx, message.Pong{})
	case message.ClientEnd:
		within, cancel := context.WithTimeout(ctx, c.server.Call)
		defer cancel()
		if err := c.server.Streams.End(within, c.streamID); err != nil {
			return c.reply(ctx, c.complain("end", err))
		}
		return nil // the next read of the place has the end
	default:
		return c.reply(ctx, message.ErrorOf(fault.New(fault.ResourceConflict, "The stream is not ready. Wait for the message ready.")))
	}
}

// complain returns the message for an error, and logs one that is not for the client.
func (c *socket) complain(what string, err error) message.Error {
	if f := fault.Of(err); f == nil || f.Code == fault.InternalError {
		c.server.Logger.Error("a message of a stream failed", "stream_id", c.streamID, "message", what, "error", err)
	}
	return message.ErrorOf(err)
}

// end sends the end of the stream.
func (c *socket) end(ctx context.Context, m message.ServerEnd) *verdict {
	if v := c.reply(ctx, m); v != nil {
		return v
	}
	return closing(websocket.StatusNormalClosure, string(m.Reason), nil)
}

// attend connects the client with the session. It returns nil when the session is over and the stream is
// not.
func (c *socket) attend(ctx context.Context, place Place) *verdict {
	s := place.Session
	s.Joined()
	defer s.Left()
	sub := s.Subscribe(-1)
	defer sub.Close()
	if v := c.reply(ctx, place.Ready); v != nil {
		return v
	}
	// The goroutines of this function end before the subscription is closed.
	ctx, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	out := make(chan heard)
	others.Go(func() { listen(ctx, sub, out) })
	ending := sync.OnceFunc(func() { others.Go(func() { c.endSession(ctx, s) }) })
	for {
		var v *verdict
		select {
		case in := <-c.incoming:
			v = c.obey(ctx, place, in, ending)
		case h := <-out:
			if errors.Is(h.err, io.EOF) {
				return nil
			}
			v = c.tell(ctx, h)
		case <-ctx.Done():
			v = verdictOf(ctx)
		}
		if v != nil {
			return v
		}
	}
}

// tell passes what the session said on to the client.
func (c *socket) tell(ctx context.Context, h heard) *verdict {
	end, isEnd := h.message.(message.ServerEnd)
	switch {
	case ctx.Err() != nil:
		return verdictOf(ctx)
	case h.err != nil:
		return errTooSlow
	case isEnd:
		return c.end(ctx, end)
	}
	return c.reply(ctx, h.message)
}

// endSession ends the stream. The message end follows, also when the end takes longer than Options.Call.
func (c *socket) endSession(ctx context.Context, s Session) {
	ctx, cancel := context.WithTimeout(ctx, c.server.Call)
	defer cancel()
	if err := s.End(ctx); err != nil && ctx.Err() == nil {
		c.server.Logger.Error("a client cannot end its stream", "stream_id", c.streamID, "error", err)
	}
}

// heard is a message of a session, or the error that ends them.
type heard struct {
	message message.Server
	err     error
}

// listen passes the messages of a subscription on, until its end or that of ctx.
func listen(ctx context.Context, sub Subscription, out chan<- heard) {
	for {
		m, err := sub.Next(ctx)
		select {
		case out <- heard{m, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// obey does what the client asks for. end starts the end of the stream.
func (c *socket) obey(ctx context.Context, place Place, in incoming, end func()) *verdict {
	m, v := c.check(ctx, in)
	if m == nil {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, c.server.Call)
	defer cancel()
	s := place.Session
	var err error
	switch m := m.(type) {
	case message.Join:
		return c.reply(ctx, place.Ready)
	case message.Ping:
		return c.reply(ctx, message.Pong{})
	case message.Offer:
		var sdp string
		if sdp, err = s.Answer(ctx, "signaling", m.SDP); err == nil {
			return c.reply(ctx, message.Answer{SDP: sdp})
		}
	case message.ClientICE:
		if len(m.Errors) > 0 {
			s.Report(m.Errors...)
		}
		var candidate message.Candidate
		if m.Candidate != nil {
			candidate = *m.Candidate
		}
		err = s.AddCandidate(candidate)
	case message.UpdatePrompt:
		err = s.UpdatePrompt(ctx, m.Prompt)
	case message.ClientEnd:
		end()
	}
	if err != nil {
		return c.reply(ctx, c.complain(m.Type(), err))
	}
	return nil
}

// reasonOf bounds a reason of a close frame, which has at most 123 bytes.
func reasonOf(s string) string { return s[:min(len(s), 120)] }
