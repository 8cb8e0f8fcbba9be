package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections/public"
	"vqa/projections/resources"
)

// streamPage is how many events are read at a time.
const streamPage = 100

// StreamEvents answers GET /v1/events/stream.
func (s *server) StreamEvents(ctx context.Context, r api.StreamEventsRequestObject) (api.StreamEventsResponseObject, error) {
	tenant := edge.ExchangeOf(ctx).Tenant()
	st := &feedStream{server: s, ctx: ctx, tenant: tenant}
	// The headers are sent before the events, each of which may be the end of a live stream.
	edge.ExchangeOf(ctx).Deprecated(edge.DeprecatedSummaryFrames)
	var err error
	if r.Params.LastEventID == nil || *r.Params.LastEventID == "" {
		st.last, st.after, err = s.Events.Latest(ctx, tenant)
		return st.response(), err
	}
	if st.last = *r.Params.LastEventID; !id.Valid(id.Event, st.last) {
		return nil, fault.Invalid(fault.Violation{Param: "Last-Event-ID", Code: fault.Format, Message: "must be an id that starts with evt_"})
	}
	st.after, err = s.Events.Position(ctx, tenant, st.last)
	if fault.Has(err, fault.ResourceNotFound) {
		err = fault.NotFound("Last-Event-ID", st.last)
	}
	return st.response(), err
}

// feedStream sends the events of a feed.
type feedStream struct {
	server *server
	ctx    context.Context
	tenant resources.Tenant
	// last is the id of the last event that the client has, and after its position.
	last  string
	after int64
}

// response starts with the id of the last event before the stream, so that a client that
// disconnects before its first event knows where to continue.
func (st *feedStream) response() eventStream {
	return eventStream{server: st.server, ctx: st.ctx, exchange: edge.ExchangeOf(st.ctx), first: fmt.Sprintf("retry: 1000\nid: %s\n\n", st.last), next: st.next}
}

// next sends a page of events.
func (st *feedStream) next(out *eventWriter) (step, error) {
	list, next, err := st.server.Events.Since(st.ctx, st.tenant, public.Filter{}, st.after, streamPage)
	if err != nil {
		return over, err
	}
	if err := st.write(out, list); err != nil {
		return over, err
	}
	st.after = next
	if len(list) == streamPage {
		return again, nil
	}
	return wait, nil
}

// write sends events in their order.
func (st *feedStream) write(out *eventWriter, list []public.Event) error {
	if err := st.server.dropArtifacts(st.ctx, list); err != nil {
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
