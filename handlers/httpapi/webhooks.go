package httpapi

import (
	"context"
	"encoding/json"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/webhook"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections"
	"vqa/projections/deliveries"
)

// ListWebhookEndpoints answers GET /v1/webhook_endpoints.
func (s *server) ListWebhookEndpoints(ctx context.Context, r api.ListWebhookEndpointsRequestObject) (api.ListWebhookEndpointsResponseObject, error) {
	p := r.Params
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	endpoints, more, err := s.Resources.WebhookEndpoints(ctx, edge.ExchangeOf(ctx).Tenant(), page)
	if err != nil {
		return nil, err
	}
	data, err := s.renderEndpoints(ctx, endpoints...)
	if err != nil {
		return nil, err
	}
	return api.ListWebhookEndpoints200JSONResponse{Object: api.WebhookEndpointListObjectList, Data: data, HasMore: more}, nil
}

// CreateWebhookEndpoint answers POST /v1/webhook_endpoints. The edge has checked the body and the
// host of the URL.
func (s *server) CreateWebhookEndpoint(ctx context.Context, r api.CreateWebhookEndpointRequestObject) (api.CreateWebhookEndpointResponseObject, error) {
	created, err := s.Service.CreateWebhookEndpoint(ctx, edge.ExchangeOf(ctx).Caller, webhook.Settings{
		URL: r.Body.Url, Events: eventTypes(r.Body.Events), Description: given(r.Body.Description),
		NoticeEmail: given(r.Body.NoticeEmail),
	})
	if err != nil {
		return nil, err
	}
	rendered := renderSettings(created.Endpoint) // nothing was delivered to it yet
	rendered.Secret = &created.Secret
	return api.CreateWebhookEndpoint201JSONResponse(rendered), nil
}

// GetWebhookEndpoint answers GET /v1/webhook_endpoints/{id}.
func (s *server) GetWebhookEndpoint(ctx context.Context, r api.GetWebhookEndpointRequestObject) (api.GetWebhookEndpointResponseObject, error) {
	e, err := s.ownEndpoint(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	rendered, err := s.renderEndpoint(ctx, e)
	return api.GetWebhookEndpoint200JSONResponse(rendered), err
}

// UpdateWebhookEndpoint answers PATCH /v1/webhook_endpoints/{id}. The edge has checked the body and
// the host of the URL.
func (s *server) UpdateWebhookEndpoint(ctx context.Context, r api.UpdateWebhookEndpointRequestObject) (api.UpdateWebhookEndpointResponseObject, error) {
	if _, err := s.ownEndpoint(ctx, r.Id); err != nil {
		return nil, err
	}
	c := webhook.Change{Ref: webhook.Ref{ID: r.Id}, URL: r.Body.Url}
	if r.Body.Events != nil {
		c.Events = eventTypes(*r.Body.Events)
	}
	var err error
	if c.Description, err = textOrNull(r.Body.Description); err != nil {
		return nil, err
	}
	if c.NoticeEmail, err = textOrNull(r.Body.NoticeEmail); err != nil {
		return nil, err
	}
	e, err := s.Service.ChangeWebhookEndpoint(ctx, edge.ExchangeOf(ctx).Caller, c)
	if err != nil {
		return nil, err
	}
	rendered, err := s.renderEndpoint(ctx, e)
	return api.UpdateWebhookEndpoint200JSONResponse(rendered), err
}

// textOrNull returns the text of an optional field, empty for null, and nil when the field is absent.
func textOrNull(field json.RawMessage) (*string, error) {
	if field == nil {
		return nil, nil
	}
	var text string
	err := json.Unmarshal(field, &text)
	return &text, err
}

// DeleteWebhookEndpoint answers DELETE /v1/webhook_endpoints/{id}.
func (s *server) DeleteWebhookEndpoint(ctx context.Context, r api.DeleteWebhookEndpointRequestObject) (api.DeleteWebhookEndpointResponseObject, error) {
	if _, err := s.ownEndpoint(ctx, r.Id); err != nil {
		return nil, err
	}
	if err := s.Service.DeleteWebhookEndpoint(ctx, edge.ExchangeOf(ctx).Caller, r.Id); err != nil {
		return nil, err
	}
	return api.DeleteWebhookEndpoint200JSONResponse{Id: r.Id, Object: api.DeletedWebhookEndpointObjectWebhookEndpoint, Deleted: true}, nil
}

// EnableWebhookEndpoint answers POST /v1/webhook_endpoints/{id}/enable.
func (s *server) EnableWebhookEndpoint(ctx context.Context, r api.EnableWebhookEndpointRequestObject) (api.EnableWebhookEndpointResponseObject, error) {
	if _, err := s.ownEndpoint(ctx, r.Id); err != nil {
		return nil, err
	}
	e, err := s.Service.EnableWebhookEndpoint(ctx, edge.ExchangeOf(ctx).Caller, r.Id)
	if err != nil {
		return nil, err
	}
	rendered, err := s.renderEndpoint(ctx, e)
	if err == nil && r.Body != nil && given(r.Body.Redeliver) {
		var missed api.WebhookRedelivery
		missed, err = s.redeliver(ctx, e, deliveries.Filter{DeadReason: webhook.EndpointDisabled}, projections.Page{})
		rendered.Redelivery = &missed
	}
	return api.EnableWebhookEndpoint200JSONResponse(rendered), err
}

// DisableWebhookEndpoint answers POST /v1/webhook_endpoints/{id}/disable.
func (s *server) DisableWebhookEndpoint(ctx context.Context, r api.DisableWebhookEndpointRequestObject) (api.DisableWebhookEndpointResponseObject, error) {
	if _, err := s.ownEndpoint(ctx, r.Id); err != nil {
		return nil, err
	}
	e, err := s.Service.DisableWebhookEndpoint(ctx, edge.ExchangeOf(ctx).Caller, r.Id)
	if err != nil {
		return nil, err
	}
	rendered, err := s.renderEndpoint(ctx, e)
	return api.DisableWebhookEndpoint200JSONResponse(rendered), err
}

// RotateWebhookSecret answers POST /v1/webhook_endpoints/{id}/rotate_secret. It renders the endpoint
// first: a failure after the rotation would lose the secret.
func (s *server) RotateWebhookSecret(ctx context.Context, r api.RotateWebhookSecretRequestObject) (api.RotateWebhookSecretResponseObject, error) {
	e, err := s.ownEndpoint(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	rendered, err := s.renderEndpoint(ctx, e)
	if err != nil {
		return nil, err
	}
	rotated, err := s.Service.RotateWebhookSecret(ctx, edge.ExchangeOf(ctx).Caller, r.Id)
	rendered.Secret = &rotated.Secret
	return api.RotateWebhookSecret200JSONResponse(rendered), err
}

// ownEndpoint reads a webhook endpoint of the caller. A malformed id reads as unknown.
func (s *server) ownEndpoint(ctx context.Context, endpointID string) (webhook.Endpoint, error) {
	if !id.Valid(id.Webhook, endpointID) {
		return webhook.Endpoint{}, fault.NotFound("id", endpointID)
	}
	return s.Resources.WebhookEndpoint(ctx, edge.ExchangeOf(ctx).Tenant(), endpointID)
}

func eventTypes(given []api.EventType) []string {
	types := make([]string, len(given))
	for i, t := range given {
		types[i] = string(t)
	}
	return types
}

func (s *server) renderEndpoint(ctx context.Context, e webhook.Endpoint) (api.WebhookEndpoint, error) {
	rendered, err := s.renderEndpoints(ctx, e)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	return rendered[0], nil
}

// renderEndpoints renders endpoints without their secrets.
func (s *server) renderEndpoints(ctx context.Context, endpoints ...webhook.Endpoint) ([]api.WebhookEndpoint, error) {
	rendered := make([]api.WebhookEndpoint, len(endpoints))
	ids := make([]string, len(endpoints))
	for i, e := range endpoints {
		rendered[i], ids[i] = renderSettings(e), e.ID
	}
	if s.Deliveries == nil || len(endpoints) == 0 {
		return rendered, nil
	}
	times, err := s.Deliveries.Times(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for i, e := range endpoints {
		t := times[e.ID]
		rendered[i].LastSuccessAt = stampOf(t.LastSuccessAt)
		if t.FailingSince != nil && e.Enabled() && !t.FailingSince.Before(e.FailuresSince) {
			rendered[i].FailingSince = stampOf(t.FailingSince)
		}
	}
	return rendered, nil
}

// renderSettings renders an endpoint without its deliveries and its secret.
func renderSettings(e webhook.Endpoint) api.WebhookEndpoint {
	out := api.WebhookEndpoint{
		Id: e.ID, Object: api.WebhookEndpointObjectWebhookEndpoint, Livemode: e.Livemode, Url: e.URL, CreatedAt: stamp(e.CreatedAt),
		Status: api.Enabled, Events: make([]api.EventType, len(e.Events)),
	}
	for i, t := range e.Events {
		out.Events[i] = api.EventType(t)
	}
	if e.Description != "" {
		out.Description = &e.Description
	}
	if e.NoticeEmail != "" {
		out.NoticeEmail = &e.NoticeEmail
	}
	if !e.Enabled() {
		out.Status, out.DisabledReason = api.Disabled, new(api.WebhookEndpointDisabledReason(e.DisabledReason))
	}
	return out
}
