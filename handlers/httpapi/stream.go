package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

const (
	// streamsPerKey bounds the open event streams of one key on this node, whatever they
	// tell.
	streamsPerKey = 20
	// streamsPerAccount bounds those of all keys of an account on this node: an account may
	// have a hundred keys.
	streamsPerAccount = 60
	// streamLife ends a stream now and then. The client comes again with Last-Event-ID and
	// misses nothing.
	streamLife = 15 * time.Minute
	// credentialCheck is how long a stream may outlive the credential of its reader.
	credentialCheck = 30 * time.Second
	// heartbeatEvery keeps proxies from closing a silent stream.
	heartbeatEvery = 15 * time.Second
)

// step is what follows on a step of a stream.
type step int

const (
	wait  step = iota // until something changed
	again             // there is more already
	over              // nothing follows
)

// eventStream is the one implementation of server-sent events. It implements the
// responses of StreamEvents and StreamAnalysis.
type eventStream struct {
	server *server
	ctx    context.Context
	// exchange is that of the reader.
	exchange *edge.Exchange
	// first is sent before the first event; it may be empty.
	first string
	// next sends what is new.
	next func(out *eventWriter) (step, error)
}

// VisitStreamEventsResponse implements api.StreamEventsResponseObject.
func (st eventStream) VisitStreamEventsResponse(w http.ResponseWriter) error { return st.visit(w) }

// VisitStreamAnalysisResponse implements api.StreamAnalysisResponseObject.
func (st eventStream) VisitStreamAnalysisResponse(w http.ResponseWriter) error { return st.visit(w) }

// visit writes the stream. The status is sent before the first event, so a later failure
// is told as the last event. Error: concurrency_limit_exceeded.
func (st eventStream) visit(w http.ResponseWriter) error {
	x := st.exchange
	key, account := x.Caller.KeyID+"/"+x.Caller.AccountID, x.Caller.AccountID
	if err := st.server.streams.enter(key, account); err != nil {
		return err
	}
	defer st.server.streams.leave(key, account)
	// The subscription begins before the first read, so that no signal falls between.
	wake, unsubscribe := st.server.Wake()
	defer unsubscribe()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that hold responses back
	w.WriteHeader(http.StatusOK)
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	// A client that has seen everything must still learn that it is connected.
	err := out.send(st.first)
	if err == nil {
		err = st.follow(x, out, wake)
	}
	if err == nil {
		return nil
	}
	st.server.Log.DebugContext(st.ctx, "event stream ended early", "request_id", x.RequestID, "error", err.Error())
	out.end(edge.AsFault(st.ctx, err))
	return nil
}

// follow sends what there is and what comes, until nothing follows, the stream has lived
// long enough, its reader may no longer read, its request ends, or the first error.
func (st eventStream) follow(x *edge.Exchange, out *eventWriter, wake <-chan struct{}) error {
	times := st.server.Streams
	life, check := time.NewTimer(times.Life), time.NewTimer(times.Check)
	due := time.Now().Add(times.Check)
	heartbeat, reread := time.NewTicker(heartbeatEvery), time.NewTicker(rereadEvery)
	defer life.Stop()
	defer check.Stop()
	defer heartbeat.Stop()
	defer reread.Stop()
	more := make(chan struct{})
	close(more)
	for {
		if !time.Now().Before(due) {
			if err := x.Recheck(st.ctx); err != nil {
				return err
			}
			due = time.Now().Add(times.Check)
			check.Reset(times.Check)
		}
		next, err := st.next(out)
		if err != nil || next == over {
			return err
		}
		ready := more
		if next == wait {
			ready = nil
			if _, err := pause(st.ctx, nil, nil, time.After(rereadGap)); err != nil {
				return err
			}
		}
		select {
		case <-ready:
		case <-wake:
		case <-reread.C:
		case <-check.C:
		case <-heartbeat.C:
			if err := out.send(": still here\n\n"); err != nil {
				return err
			}
		case <-life.C:
			return out.send(fmt.Sprintf(": This stream ends after %s. Connect again with Last-Event-ID.\n\n", times.Life))
		case <-st.ctx.Done():
			return context.Cause(st.ctx)
		}
	}
}

// eventWriter writes to a client that must keep up: its responses have a pace.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	failed  bool
}

func (o *eventWriter) send(text string) error {
	_, err := o.w.Write([]byte(text))
	if err == nil {
		err = o.control.Flush()
	}
	o.failed = err != nil
	return err
}

// end says why the stream ends before its time. It has no id, so that Last-Event-ID stays
// that of the last event.
func (o *eventWriter) end(f *fault.Fault) {
	if o.failed {
		return
	}
	reason := struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
	}{f.Code, f.Message}
	if data, err := json.Marshal(reason); err == nil {
		_ = o.send(fmt.Sprintf("event: end\ndata: %s\n\n", data)) // the client may be gone
	}
}

// openStreams counts the streams of each key and of each account. Its zero value has none.
type openStreams struct {
	mu   sync.Mutex
	open map[string]int
}

// enter counts one more. Error: concurrency_limit_exceeded.
func (o *openStreams) enter(key, account string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.open[key] >= streamsPerKey:
		return fault.Newf(fault.ConcurrencyLimitExceeded, "This key has %d open event streams already.", streamsPerKey)
	case o.open[account] >= streamsPerAccount:
		return fault.Newf(fault.ConcurrencyLimitExceeded, "This account has %d open event streams already.", streamsPerAccount)
	}
	if o.open == nil {
		o.open = map[string]int{}
	}
	o.open[key]++
	o.open[account]++
	return nil
}

func (o *openStreams) leave(key, account string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, holder := range []string{key, account} {
		if o.open[holder]--; o.open[holder] == 0 {
			delete(o.open, holder)
		}
	}
}
