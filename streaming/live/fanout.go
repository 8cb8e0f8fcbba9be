package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"vqa/streaming/message"
)

const (
	// keptResults is the number of results that can be read again, and that wait for a subscriber.
	keptResults = 128
	// queuedOthers is the number of other messages that wait for a subscriber.
	queuedOthers = 64
)

// ErrSlow is returned by Next to a subscriber that did not read its messages in time.
var ErrSlow = errors.New("live: the subscriber is too slow")

// fanout passes the messages of a session on to its subscribers. It is safe for concurrent use.
type fanout struct {
	mu          sync.Mutex
	subscribers map[*Subscription]bool
	results     []message.Result // the latest ones
	live        *message.Live
	notice      *message.Error // about the recording; each new subscriber gets it
	end         *message.ServerEnd
	closed      bool // nothing follows
}

func newFanout() *fanout { return &fanout{subscribers: map[*Subscription]bool{}} }

// send passes a message on, unless the session is over.
func (f *fanout) send(m message.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	switch m := m.(type) {
	case message.Live:
		f.live = &m
	case message.Result:
		if len(f.results) == keptResults {
			f.results = append(f.results[:0], f.results[1:]...)
		}
		f.results = append(f.results, m)
	case message.ServerEnd:
		f.end = &m
	}
	for s := range f.subscribers {
		s.put(m)
	}
}

// keep sends a notice, now and to each subscriber that follows.
func (f *fanout) keep(m message.Error) {
	f.mu.Lock()
	f.notice = &m
	f.mu.Unlock()
	f.send(m)
}

// subscribe returns a subscription that begins with what its reader missed.
func (f *fanout) subscribe(after int64) *Subscription {
	s := &Subscription{fanout: f, fresh: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live != nil {
		s.put(*f.live)
	}
	if f.notice != nil {
		s.put(*f.notice)
	}
	for _, r := range f.results {
		if after >= 0 && r.Seq > after {
			s.put(r)
		}
	}
	if f.end != nil {
		s.put(*f.end)
	}
	s.closed = f.closed
	f.subscribers[s] = true
	return s
}

// close ends all subscriptions after what they have in their queues.
func (f *fanout) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for s := range f.subscribers {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		notify(s.fresh)
	}
}

// Subscription is the queue of one reader of a session's messages. It is for one goroutine.
type Subscription struct {
	fanout *fanout
	fresh  chan struct{} // has a token when there is something to read

	mu      sync.Mutex
	queue   []message.Server
	results int // in the queue
	slow    bool
	closed  bool // nothing follows the queue
}

// Next returns the next message and waits for one. It returns io.EOF when the session is over: after the
// message ServerEnd, or without it when the stream waits for another node. It returns ErrSlow when
// messages were lost, and the cause of the end of ctx. Results may be missing; their numbers tell.
func (s *Subscription) Next(ctx context.Context) (message.Server, error) {
	for {
		if m, err := s.take(); m != nil || err != nil {
			return m, err
		}
		select {
		case <-s.fresh:
		case <-ctx.Done():
			return nil, fmt.Errorf("live: %w", context.Cause(ctx))
		}
	}
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.fanout.mu.Lock()
	defer s.fanout.mu.Unlock()
	delete(s.fanout.subscribers, s)
}

// take returns the first message of the queue, or neither a message nor an error.
func (s *Subscription) take() (message.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.slow:
		return nil, ErrSlow
	case len(s.queue) > 0:
		m := s.queue[0]
		s.drop(0)
		return m, nil
	case s.closed:
		return nil, io.EOF
	}
	return nil, nil
}

func (s *Subscription) drop(i int) {
	if _, is := s.queue[i].(message.Result); is {
		s.results--
	}
	s.queue = append(s.queue[:i], s.queue[i+1:]...)
}

// put adds a message. Of too many results, the oldest one is dropped.
func (s *Subscription) put(m message.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, result := m.(message.Result)
	switch {
	case s.slow:
		return
	case result && s.results == keptResults:
		for i, q := range s.queue {
			if _, is := q.(message.Result); is {
				s.drop(i)
				break
			}
		}
	case !result && len(s.queue)-s.results == queuedOthers:
		s.slow, s.queue, s.results = true, nil, 0
	}
	if !s.slow {
		s.queue = append(s.queue, m)
		if result {
			s.results++
		}
	}
	notify(s.fresh)
}

// notify puts a token into a channel that holds one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
