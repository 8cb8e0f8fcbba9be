package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections"
	"vqa/projections/public"
	"vqa/projections/resources"
)

// Events reads the feed of an account. It returns only events whose position is final, so
// that a reader who continues after the last one misses none. Errors: resource_not_found
// for an id of another tenant.
type Events interface {
	Event(ctx context.Context, t resources.Tenant, eventID string) (public.Event, error)
	// Events lists newest first.
	Events(ctx context.Context, t resources.Tenant, f public.Filter, p projections.Page) ([]public.Event, bool, error)
	// Since returns at most limit events after a position, in order, and the position to
	// continue from.
	Since(ctx context.Context, t resources.Tenant, f public.Filter, after int64, limit int) ([]public.Event, int64, error)
	// Latest returns the id of the newest event and a position before all later events.
	Latest(ctx context.Context, t resources.Tenant) (string, int64, error)
	// Position returns the position of an event.
	Position(ctx context.Context, t resources.Tenant, eventID string) (int64, error)
}

// ListEvents answers GET /v1/events.
func (s *server) ListEvents(ctx context.Context, r api.ListEventsRequestObject) (api.ListEventsResponseObject, error) {
	p := r.Params
	filter := public.Filter{Type: public.Type(given(p.Type)), ResourceID: given(p.ResourceId)}
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	list, more, err := s.Events.Events(ctx, edge.ExchangeOf(ctx).Tenant(), filter, page)
	if err != nil {
		return nil, err
	}
	if err := s.dropArtifacts(ctx, list); err != nil {
		return nil, err
	}
	out := api.ListEvents200JSONResponse{Object: api.EventListObjectList, Data: make([]api.Event, len(list)), HasMore: more}
	for i, e := range list {
		if out.Data[i], err = s.showEvent(ctx, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// GetEvent answers GET /v1/events/{id}.
func (s *server) GetEvent(ctx context.Context, r api.GetEventRequestObject) (api.GetEventResponseObject, error) {
	e, err := s.Events.Event(ctx, edge.ExchangeOf(ctx).Tenant(), r.Id)
	if err == nil {
		err = s.dropArtifacts(ctx, []public.Event{e})
	}
	if err != nil {
		return nil, err
	}
	out, err := s.showEvent(ctx, e)
	return api.GetEvent200JSONResponse(out), err
}

// showEvent renders an event for a response.
func (s *server) showEvent(ctx context.Context, e public.Event) (api.Event, error) {
	if e.Stream != nil && e.Stream.Summary != nil {
		edge.ExchangeOf(ctx).Deprecated(edge.DeprecatedSummaryFrames)
	}
	return s.renderEvent(ctx, e)
}

// dropArtifacts removes the artifacts of deleted videos from events.
func (s *server) dropArtifacts(ctx context.Context, list []public.Event) error {
	var ids []string
	for _, e := range list {
		if e.Analysis != nil && e.Analysis.Artifacts != nil {
			ids = append(ids, e.Analysis.VideoID)
		}
	}
	removed, err := s.Resources.RemovedVideos(ctx, ids)
	for _, e := range list {
		if e.Analysis != nil && removed[e.Analysis.VideoID] {
			e.Analysis.Artifacts = nil
		}
	}
	return err
}

// RenderEvent implements Handler.
func (s *server) RenderEvent(ctx context.Context, e public.Event) ([]byte, error) {
	if err := s.dropArtifacts(ctx, []public.Event{e}); err != nil {
		return nil, err
	}
	out, err := s.renderEvent(ctx, e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// renderEvent renders an event. Its data is the resource right after the event, with URLs
// signed now.
func (s *server) renderEvent(ctx context.Context, e public.Event) (api.Event, error) {
	out := api.Event{
		Id: e.ID, Object: api.EventObjectEvent, Type: api.EventType(e.Type), CreatedAt: stamp(e.At), Livemode: e.Livemode,
		Sequence: e.Sequence,
	}
	var resource any
	switch {
	case e.Video != nil:
		v, err := s.renderVideo(ctx, *e.Video)
		if err != nil {
			return out, err
		}
		resource = v
	case e.Analysis != nil:
		resource = s.renderAnalysis(ctx, resources.Analysis{State: *e.Analysis})
	case e.Stream != nil:
		resource = s.renderStream(ctx, resources.Stream{State: *e.Stream})
	default:
		return out, fmt.Errorf("event %s has no resource", e.ID)
	}
	raw, err := json.Marshal(resource)
	if err != nil {
		return out, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return out, out.Data.UnmarshalJSON(raw)
}
