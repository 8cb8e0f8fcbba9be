package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections/deliveries"
	"vqa/projections/public"
)

// Group is the name of this subscriber of the log.
const Group = "webhooks"

// Events returns the public form of an event of the log. ok is false for an event that is not public.
type Events interface {
	Of(ctx context.Context, r eventstore.Recorded) (e public.Event, ok bool, err error)
}

// Planner stores bodies and deliveries.
type Planner interface {
	Plan(ctx context.Context, e deliveries.Event, targets []deliveries.Target, now time.Time) (added int, err error)
	DropBodies(ctx context.Context, accountID, resourceID string, now time.Time) error
	Hasten(ctx context.Context, target string, now time.Time) error
	Missed(ctx context.Context, key webhook.DeliveryKey, requeued time.Time) (bool, error)
	Requeue(ctx context.Context, now time.Time, keys ...webhook.DeliveryKey) error
	Forget(ctx context.Context, endpointID string) (bool, error)
}

// Subscriber turns public events into deliveries.
type Subscriber struct {
	Events  Events
	Streams Streams
	Plans   Planner
	// Render returns an event as JSON, as GET /v1/events shows it.
	Render func(ctx context.Context, e public.Event) ([]byte, error)
	// Wake tells the dispatcher of this process that deliveries are due.
	Wake func()
	Now  func() time.Time
	Log  *slog.Logger
}

// Handle plans the deliveries of one event of the log. It may be repeated.
func (s *Subscriber) Handle(ctx context.Context, r eventstore.Recorded) error {
	switch e := r.Event.(type) {
	case video.Deleted:
		defer s.Wake()
		return s.Plans.DropBodies(ctx, r.Meta.AccountID, e.VideoID, s.Now())
	case webhook.Deleted:
		defer s.Wake()
		return s.Plans.Hasten(ctx, e.EndpointID, s.Now())
	case webhook.Enabled:
		return s.forgive(ctx, e.AccountID, e.EndpointID, e.At)
	case webhook.Changed:
		return s.forgive(ctx, e.AccountID, e.EndpointID, e.At)
	case webhook.Requeued:
		return s.requeue(ctx, e)
	}
	e, targets, err := pairs(ctx, s.Events, s.Streams, r)
	// A replay may deliver events again whose deliveries were removed.
	if err != nil || len(targets) == 0 || s.Now().Sub(e.At) > deliveries.Retention {
		return err
	}
	body, err := s.Render(ctx, e)
	if err == nil {
		body, err = truncate(body, maxBody)
	}
	if err != nil {
		return fmt.Errorf("render event %s: %w", e.ID, err)
	}
	added, err := s.Plans.Plan(ctx, deliveries.Event{
		ID: e.ID, Type: string(e.Type), AccountID: r.Meta.AccountID, Livemode: e.Livemode, ResourceID: r.Stream.ID,
		Position: r.Position, At: e.At, Body: body,
	}, targets, s.Now())
	if added > 0 {
		s.Wake()
	}
	return err
}

// forgive clears the failures of an endpoint if those before a change at a time do not count any more.
func (s *Subscriber) forgive(ctx context.Context, accountID, endpointID string, changed time.Time) error {
	endpoints, err := endpointsOf(ctx, s.Streams, accountID)
	if err != nil {
		return err
	}
	if e, known := endpoints.Endpoint(endpointID); known && e.FailuresSince.Equal(changed) {
		_, err = s.Plans.Forget(ctx, endpointID)
	}
	return err
}

// requeue makes a delivery due that its owner requeued, unless it was attempted or has ended since. The request
// did so already, unless its process was killed in between. A request can requeue 1,000 deliveries, so the usual
// case must be cheap.
func (s *Subscriber) requeue(ctx context.Context, e webhook.Requeued) error {
	missed, err := s.Plans.Missed(ctx, webhook.DeliveryKey{
		DeliveryID: e.DeliveryID, AccountID: e.AccountID, EventID: e.EventID, Target: e.Target,
	}, e.At)
	if err != nil || !missed {
		return err
	}
	recorded, err := s.Streams.LoadAll(ctx, fold.Delivery.Stream(e.DeliveryID))
	if err != nil {
		return fmt.Errorf("the outcome of %s: %w", e.DeliveryID, err)
	}
	d, err := fold.Delivery.Fold(webhook.Delivery{}, recorded...)
	if err != nil || d.Outcome != webhook.Waiting {
		return err
	}
	defer s.Wake()
	return s.Plans.Requeue(ctx, s.Now(), d.DeliveryKey)
}

// pairs returns the public form of an event of the log and the targets that it must be delivered to.
// There are none for an event that is not public.
func pairs(ctx context.Context, events Events, streams Streams, r eventstore.Recorded) (public.Event, []deliveries.Target, error) {
	if _, ok := public.ID(r); !ok {
		return public.Event{}, nil, nil
	}
	e, ok, err := events.Of(ctx, r)
	if err != nil || !ok {
		return e, nil, err
	}
	endpoints, err := endpointsAt(ctx, streams, r.Meta.AccountID, r.Position)
	if err != nil {
		return e, nil, err
	}
	return e, targetsOf(e, r.Meta.AccountID, endpoints), nil
}

// targetsOf returns the targets of an event, given the endpoints at its position. Disabled endpoints
// are among them: their deliveries end as dead.
func targetsOf(e public.Event, accountID string, endpoints webhook.State) []deliveries.Target {
	var targets []deliveries.Target
	add := func(key, url string) {
		targets = append(targets, deliveries.Target{Key: key, DeliveryID: webhook.DeliveryID(e.At, e.ID, key), URL: url})
	}
	for _, to := range endpoints.Matching(string(e.Type), e.Livemode) {
		add(to.ID, "")
	}
	to, events := overrideOf(e)
	if to == "" || len(events) > 0 && !slices.Contains(events, string(e.Type)) {
		return targets
	}
	if parsed, err := url.Parse(to); err == nil { // it was checked when the resource was created
		add(webhook.OverrideTarget(accountID, parsed), to)
	}
	return targets
}

// overrideOf returns the destination that the request of the resource named, or "", and its events.
func overrideOf(e public.Event) (to string, events []string) {
	switch {
	case e.Analysis != nil && e.Analysis.Webhook != nil:
		return e.Analysis.Webhook.URL, e.Analysis.Webhook.Events
	case e.Stream != nil && e.Stream.Webhook != nil:
		return e.Stream.Webhook.URL, e.Stream.Webhook.Events
	}
	return "", nil
}
