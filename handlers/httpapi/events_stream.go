package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/httpapi/api"
	"vqa/projections/public"
	"vqa/projections/resources"
)

const (
	// streamsPerKey bounds the open streams of one key on this node.
	streamsPerKey = 20
	// streamLife ends a stream now and then, so that nobody listens for long with a key
	// that was revoked. The client comes again with Last-Event-ID and misses nothing.
	streamLife = 15 * time.Minute
	// streamPage is how many events are read at once.
	streamPage = 100
	// streamGap keeps a busy service from looking once for each event of others.
	streamGap = 50 * time.Millisecond
	// streamReread is how long an event may go unnoticed when its signal is lost.
	streamReread = time.Second
	// streamWriteTimeout ends a stream whose reader does not read.
	streamWriteTimeout = 30 * time.Second
)

// StreamEvents answers GET /v1/events/stream.
func (s *server) StreamEvents(ctx context.Context, r api.StreamEventsRequestObject) (api.StreamEventsResponseObject, error) {
	tenant := exchangeOf(ctx).tenant()
	st := eventStream{server: s, ctx: ctx, tenant: tenant}
	var err error
	if r.Params.LastEventID == nil || *r.Params.LastEventID == "" {
		st.last, st.after, err = s.Events.Latest(ctx, tenant)
		return st, err
	}
	if st.last = *r.Params.LastEventID; !id.Valid(id.Event, st.last) {
		return nil, fault.Invalid(fault.Violation{Param: "Last-Event-ID", Code: fault.Format, Message: "must be an id that begins with evt_"})
	}
	st.after, err = s.Events.Position(ctx, tenant, st.last)
	if fault.Has(err, fault.ResourceNotFound) {
		err = fault.NotFound("Last-Event-ID", st.last)
	}
	return st, err
}

// eventStream writes the server-sent events of a feed.
type eventStream struct {
	server *server
	ctx    context.Context
	tenant resources.Tenant
	// last is the id of the event that the client has seen last, after its position.
	last  string
	after int64
}

// VisitStreamEventsResponse implements api.StreamEventsResponseObject. It begins with the
// id of the last event before the stream, so that a client that loses the connection
// before its first event still knows where to go on.
func (st eventStream) VisitStreamEventsResponse(w http.ResponseWriter) error {
	x := exchangeOf(st.ctx)
	holder := x.caller.KeyID + "/" + x.caller.AccountID
	if !st.server.streams.enter(holder) {
		return fault.Newf(fault.ConcurrencyLimitExceeded, "This key has %d open event streams already.", streamsPerKey)
	}
	defer st.server.streams.leave(holder)
	// The subscription begins before the first read, so that no signal falls between.
	wake, unsubscribe := st.server.Wake()
	defer unsubscribe()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that hold responses back
	w.WriteHeader(http.StatusOK)
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	defer out.control.SetWriteDeadline(time.Time{}) //nolint:errcheck // the connection may be gone
	err := out.send(fmt.Sprintf("retry: 1000\nid: %s\n\n", st.last))
	if err == nil {
		err = st.follow(out, wake)
	}
	if err != nil {
		st.server.Log.DebugContext(st.ctx, "event stream ended early", "request_id", x.requestID, "error", err.Error())
	}
	return nil
}

// follow writes what there is and what comes, until the stream has lived long enough, its
// request ends, or the first error.
func (st eventStream) follow(out *eventWriter, wake <-chan struct{}) error {
	life, heartbeat, reread := time.NewTimer(streamLife), time.NewTicker(heartbeatEvery), time.NewTicker(streamReread)
	defer life.Stop()
	defer heartbeat.Stop()
	defer reread.Stop()
	for {
		list, next, err := st.server.Events.Since(st.ctx, st.tenant, public.Filter{}, st.after, streamPage)
		if err != nil {
			return err
		}
		if err := st.write(out, list); err != nil {
			return err
		}
		st.after = next
		if len(list) == streamPage {
			continue
		}
		if done, err := pause(st.ctx, life.C, nil, time.After(streamGap)); done || err != nil {
			return err
		}
		select {
		case <-wake:
		case <-reread.C:
		case <-heartbeat.C:
			if err := out.send(": still here\n\n"); err != nil {
				return err
			}
		case <-life.C:
			return nil
		case <-st.ctx.Done():
			return st.ctx.Err()
		}
	}
}

// write sends events in their order.
func (st eventStream) write(out *eventWriter, list []public.Event) error {
	if err := st.server.withoutRemoved(st.ctx, list); err != nil {
		return err
	}
	for _, e := range list {
		resource, err := st.server.renderEvent(st.ctx, e)
		if err != nil {
			return err
		}
		data, err := json.Marshal(resource)
		if err != nil {
			return err
		}
		if err := out.send(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, data)); err != nil {
			return err
		}
	}
	return nil
}

// eventWriter writes to a client that must keep up.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (o *eventWriter) send(text string) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)); err != nil {
		return err
	}
	_, err := o.w.Write([]byte(text))
	return flushed(o.control, err)
}

// openStreams counts the streams of each key. Its zero value has none.
type openStreams struct {
	mu   sync.Mutex
	open map[string]int
}

// enter counts one more, or reports that there are too many.
func (o *openStreams) enter(holder string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[holder] >= streamsPerKey {
		return false
	}
	if o.open == nil {
		o.open = map[string]int{}
	}
	o.open[holder]++
	return true
}

func (o *openStreams) leave(holder string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[holder]--; o.open[holder] == 0 {
		delete(o.open, holder)
	}
}
