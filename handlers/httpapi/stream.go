package httpapi

import (
	"cmp"
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
	// streamsPerKey is the most open event streams of one key on this node.
	streamsPerKey = 20
	// streamsPerAccount is the most open event streams of all keys of an account on this
	// node. An account may have a hundred keys.
	streamsPerAccount = 60
	// streamLife is how long a stream lasts. The client reconnects with Last-Event-ID and
	// misses no event.
	streamLife = 15 * time.Minute
	// credentialCheck is how long a stream may continue after its credential is revoked.
	credentialCheck = 30 * time.Second
	// heartbeatEvery is how often a comment is sent, so that proxies keep an idle stream open.
	heartbeatEvery = 15 * time.Second
)

// step is what a stream does after it has sent the new events.
type step int

const (
	wait  step = iota // wait for a change
	again             // read again at once
	over              // end
)

// eventStream sends server-sent events. It implements the responses of StreamEvents and
// StreamAnalysis.
type eventStream struct {
	server *server
	ctx    context.Context
	// exchange is the request of the reader.
	exchange *edge.Exchange
	// first is sent before the first event. It may be empty.
	first string
	// next sends the new events.
	next func(out *eventWriter) (step, error)
}

// VisitStreamEventsResponse implements api.StreamEventsResponseObject.
func (st eventStream) VisitStreamEventsResponse(w http.ResponseWriter) error { return st.visit(w) }

// VisitStreamAnalysisResponse implements api.StreamAnalysisResponseObject.
func (st eventStream) VisitStreamAnalysisResponse(w http.ResponseWriter) error { return st.visit(w) }

// visit writes the stream. The status is sent before the first event, so a later error is
// sent as the last event. Error: concurrency_limit_exceeded.
func (st eventStream) visit(w http.ResponseWriter) error {
	x := st.exchange
	key, account := x.Caller.KeyID+"/"+x.Caller.AccountID, x.Caller.AccountID
	if err := st.server.streams.enter(key, account); err != nil {
		return err
	}
	defer st.server.streams.leave(key, account)
	// Subscribe before the first read, so that no signal is missed in between.
	wake, unsubscribe := st.server.Wake()
	defer unsubscribe()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // turns off buffering in nginx
	w.WriteHeader(http.StatusOK)
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	// This also tells a client without new events that it is connected.
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

// follow sends the events that exist and those that follow. It returns when next returns
// over, the life of the stream ends, the credential expires, the request ends, or an error
// occurs.
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
			if err := out.send(": heartbeat\n\n"); err != nil {
				return err
			}
		case <-life.C:
			return out.send(fmt.Sprintf(": This stream ends after %s. Connect again with Last-Event-ID.\n\n", times.Life))
		case <-st.ctx.Done():
			return context.Cause(st.ctx)
		}
	}
}

// eventWriter writes server-sent events.
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

// end sends the reason for an early end. This event has no id, so that Last-Event-ID stays
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

// openStreams counts the open streams of each key and each account.
type openStreams struct {
	// what names the connections in errors. The default is event streams.
	what string
	mu   sync.Mutex
	open map[string]int
}

// enter counts a new stream. Error: concurrency_limit_exceeded.
func (o *openStreams) enter(key, account string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.open[key] >= streamsPerKey:
		return fault.Newf(fault.ConcurrencyLimitExceeded, "This key already has %d open %s. Close one first.", streamsPerKey, cmp.Or(o.what, "event streams"))
	case o.open[account] >= streamsPerAccount:
		return fault.Newf(fault.ConcurrencyLimitExceeded, "This account already has %d open %s. Close one first.", streamsPerAccount, cmp.Or(o.what, "event streams"))
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
