package httpapi

import (
	"context"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/webhook"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections"
	"vqa/projections/deliveries"
)

// Deliveries has the deliveries to webhook endpoints. Methods that return one have the error
// resource_not_found.
type Deliveries interface {
	// Times returns the times of the deliveries to each endpoint. An endpoint without deliveries is
	// not in the map.
	Times(ctx context.Context, endpointIDs ...string) (map[string]deliveries.Times, error)
	// Deliveries lists newest first those that are visible at now.
	Deliveries(ctx context.Context, e webhook.Endpoint, f deliveries.Filter, p projections.Page, now time.Time) ([]deliveries.Delivery, bool, error)
	Delivery(ctx context.Context, e webhook.Endpoint, deliveryID string, now time.Time) (deliveries.Delivery, error)
	// Attempts lists the last attempts, newest first.
	Attempts(ctx context.Context, d deliveries.Delivery) ([]deliveries.Attempt, bool, error)
	// Requeue makes failed and dead deliveries due. The log says so already.
	Requeue(ctx context.Context, now time.Time, keys ...webhook.DeliveryKey) error
	// Plan adds the deliveries of an event, due at now.
	Plan(ctx context.Context, e deliveries.Event, targets []deliveries.Target, now time.Time) (added int, err error)
}

// listedDeliveries is the default number of listed deliveries (docs/contract.md#webhook-endpoints).
const listedDeliveries = 100

// ListWebhookDeliveries answers GET /v1/webhook_endpoints/{id}/deliveries.
func (s *server) ListWebhookDeliveries(ctx context.Context, r api.ListWebhookDeliveriesRequestObject) (api.ListWebhookDeliveriesResponseObject, error) {
	e, err := s.ownEndpoint(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	p := r.Params
	if p.Limit == nil {
		p.Limit = new(listedDeliveries)
	}
	filter := deliveries.Filter{Status: deliveries.Status(given(p.Status)), EventType: string(given(p.EventType))}
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	list, more, err := s.Deliveries.Deliveries(ctx, e, filter, page, s.Service.Now())
	if err != nil {
		return nil, err
	}
	out := api.ListWebhookDeliveries200JSONResponse{Object: api.WebhookDeliveryListObjectList, Data: make([]api.WebhookDelivery, len(list)), HasMore: more}
	for i, d := range list {
		out.Data[i] = renderDelivery(d)
	}
	return out, nil
}

// GetWebhookDelivery answers GET /v1/webhook_endpoints/{id}/deliveries/{delivery_id}.
func (s *server) GetWebhookDelivery(ctx context.Context, r api.GetWebhookDeliveryRequestObject) (api.GetWebhookDeliveryResponseObject, error) {
	_, d, err := s.ownDelivery(ctx, r.Id, r.DeliveryId)
	return api.GetWebhookDelivery200JSONResponse(renderDelivery(d)), err
}

// ListWebhookAttempts answers GET /v1/webhook_endpoints/{id}/deliveries/{delivery_id}/attempts.
func (s *server) ListWebhookAttempts(ctx context.Context, r api.ListWebhookAttemptsRequestObject) (api.ListWebhookAttemptsResponseObject, error) {
	_, d, err := s.ownDelivery(ctx, r.Id, r.DeliveryId)
	if err != nil {
		return nil, err
	}
	list, more, err := s.Deliveries.Attempts(ctx, d)
	if err != nil {
		return nil, err
	}
	out := api.ListWebhookAttempts200JSONResponse{Object: api.WebhookAttemptListObjectList, Data: make([]api.WebhookAttempt, len(list)), HasMore: more}
	for i, a := range list {
		out.Data[i] = api.WebhookAttempt{
			Object: api.WebhookAttemptObjectWebhookAttempt, Number: a.Number, StartedAt: stamp(a.StartedAt), Status: a.Status, Error: a.Error, Response: a.Snippet,
		}
		if a.DurationUS != nil {
			out.Data[i].DurationMs = new(int(*a.DurationUS / 1000))
		}
	}
	return out, nil
}

// RedeliverWebhookDelivery answers POST …/deliveries/{delivery_id}/redeliver.
func (s *server) RedeliverWebhookDelivery(ctx context.Context, r api.RedeliverWebhookDeliveryRequestObject) (api.RedeliverWebhookDeliveryResponseObject, error) {
	e, d, err := s.ownDelivery(ctx, r.Id, r.DeliveryId)
	if err != nil {
		return nil, err
	}
	if err := redeliverable(e); err != nil {
		return nil, err
	}
	if d.DeadReason == webhook.ResourceDeleted {
		return nil, fault.New(fault.ResourceConflict, "The resource of the event was deleted, and the body of the delivery with it.")
	}
	requeued := 0
	if d.Redeliverable() {
		requeued, err = s.requeue(ctx, d)
	}
	if err == nil && requeued == 0 {
		err = fault.Newf(fault.ResourceConflict, "The delivery is %s. Only failed and dead deliveries can be redelivered.", d.Status)
	}
	if err == nil {
		d, err = s.Deliveries.Delivery(ctx, e, r.DeliveryId, s.Service.Now())
	}
	return api.RedeliverWebhookDelivery202JSONResponse(renderDelivery(d)), err
}

// RedeliverWebhookDeliveries answers POST /v1/webhook_endpoints/{id}/redeliver.
func (s *server) RedeliverWebhookDeliveries(ctx context.Context, r api.RedeliverWebhookDeliveriesRequestObject) (api.RedeliverWebhookDeliveriesResponseObject, error) {
	e, err := s.ownEndpoint(ctx, r.Id)
	if err == nil {
		err = redeliverable(e)
	}
	if err != nil {
		return nil, err
	}
	out, err := s.redeliver(ctx, e, deliveries.Filter{}, pageOf(nil, nil, nil, &r.Body.CreatedAfter, r.Body.CreatedBefore))
	return api.RedeliverWebhookDeliveries202JSONResponse(out), err
}

// redeliverable refuses an endpoint to which every delivery would end as dead. Error: resource_conflict.
func redeliverable(e webhook.Endpoint) error {
	if e.Enabled() {
		return nil
	}
	return fault.New(fault.ResourceConflict, "The endpoint is disabled. Enable it, then redeliver.")
}

// The bounds of one redelivery: 1,000 deliveries, 100 in a transaction.
const (
	redeliverPages = 10
	redeliverLimit = 100
)

// redeliver requeues the failed and dead deliveries to an endpoint that match.
func (s *server) redeliver(ctx context.Context, e webhook.Endpoint, f deliveries.Filter, p projections.Page) (api.WebhookRedelivery, error) {
	out := api.WebhookRedelivery{Object: api.WebhookRedeliveryObjectWebhookRedelivery}
	f.Redeliverable, p.Limit = true, redeliverLimit
	for range redeliverPages {
		list, more, err := s.Deliveries.Deliveries(ctx, e, f, p, s.Service.Now())
		if err != nil || len(list) == 0 {
			return out, err
		}
		requeued, err := s.requeue(ctx, list...)
		if err != nil {
			return out, err
		}
		out.Requeued += requeued
		out.HasMore, p.StartingAfter = more, list[len(list)-1].DeliveryID
		if !more {
			break
		}
	}
	return out, nil
}

// requeue records that deliveries are requeued, and makes them due. It returns their number. If the process is
// killed between the two, the subscriber of the log does the second.
func (s *server) requeue(ctx context.Context, list ...deliveries.Delivery) (int, error) {
	keys := make([]webhook.DeliveryKey, len(list))
	for i, d := range list {
		keys[i] = d.DeliveryKey
	}
	requeued, err := s.Service.RequeueDeliveries(ctx, edge.ExchangeOf(ctx).Caller, keys...)
	if err != nil || len(requeued) == 0 {
		return 0, err
	}
	return len(requeued), s.Deliveries.Requeue(ctx, s.Service.Now(), requeued...)
}

// TestWebhookEndpoint answers POST /v1/webhook_endpoints/{id}/test.
func (s *server) TestWebhookEndpoint(ctx context.Context, r api.TestWebhookEndpointRequestObject) (api.TestWebhookEndpointResponseObject, error) {
	e, err := s.ownEndpoint(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	if !e.Enabled() {
		return nil, fault.New(fault.ResourceConflict, "The endpoint is disabled. Enable it, then test it.")
	}
	var wanted string
	if r.Body != nil {
		wanted = string(given(r.Body.EventType))
	}
	sample, err := s.sample(e, wanted)
	if err != nil {
		return nil, err
	}
	body, err := s.RenderEvent(ctx, sample.Event)
	if err != nil {
		return nil, err
	}
	to := deliveries.Target{Key: e.ID, DeliveryID: webhook.DeliveryID(sample.At, sample.ID, e.ID)}
	if _, err = s.Deliveries.Plan(ctx, deliveries.Event{
		ID: sample.ID, Type: string(sample.Type), AccountID: e.AccountID, Livemode: e.Livemode, ResourceID: sample.resourceID, At: sample.At, Body: body,
	}, []deliveries.Target{to}, sample.At); err != nil {
		return nil, err
	}
	s.DeliverNow()
	d, err := s.Deliveries.Delivery(ctx, e, to.DeliveryID, sample.At)
	return api.TestWebhookEndpoint202JSONResponse(renderDelivery(d)), err
}

// ownDelivery reads a delivery of an endpoint of the caller. A malformed id reads as unknown.
func (s *server) ownDelivery(ctx context.Context, endpointID, deliveryID string) (webhook.Endpoint, deliveries.Delivery, error) {
	e, err := s.ownEndpoint(ctx, endpointID)
	if err == nil && !id.Valid(id.Delivery, deliveryID) {
		err = fault.NotFound("delivery_id", deliveryID)
	}
	if err != nil {
		return e, deliveries.Delivery{}, err
	}
	d, err := s.Deliveries.Delivery(ctx, e, deliveryID, s.Service.Now())
	return e, d, err
}

func renderDelivery(d deliveries.Delivery) api.WebhookDelivery {
	out := api.WebhookDelivery{
		Id: d.DeliveryID, Object: api.WebhookDeliveryObjectWebhookDelivery, EventId: d.EventID, EventType: api.EventType(d.EventType),
		Status: api.WebhookDeliveryStatus(d.Status), AttemptCount: d.AttemptCount, LastResponseStatus: d.LastResponseStatus,
		LastError: d.LastError, NextAttemptAt: stampOf(d.NextAttemptAt), LastAttemptAt: stampOf(d.LastAttemptAt),
		DeliveredAt: stampOf(d.DeliveredAt), CreatedAt: stamp(d.CreatedAt),
	}
	if d.DeadReason != "" {
		out.DeadReason = new(api.WebhookDeliveryDeadReason(d.DeadReason))
	}
	return out
}
