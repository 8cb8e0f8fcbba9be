package command

import (
	"context"
	"time"

	"vqa/domain/id"
	"vqa/domain/webhook"
)

// Sealer encrypts the secret of a webhook endpoint for the log.
type Sealer interface {
	Seal(secret []byte, endpointID string) webhook.Secret
}

// SignedEndpoint is a webhook endpoint with its new secret.
type SignedEndpoint struct {
	webhook.Endpoint
	// Secret is returned only here. The log has it in encrypted form.
	Secret string
}

// CreateWebhookEndpoint adds an endpoint of the caller's mode. The caller has checked that the
// URL names a public host. Errors: validation_failed, webhook_endpoint_limit.
func (s *Service) CreateWebhookEndpoint(ctx context.Context, caller Caller, wanted webhook.Settings) (SignedEndpoint, error) {
	ref := webhook.Ref{ID: s.IDs.New(id.Webhook), Livemode: caller.Livemode}
	return s.sign(ctx, caller, ref.ID, func(secret webhook.Secret) webhook.Command {
		return webhook.Create{Ref: ref, AccountID: caller.AccountID, Settings: wanted, Secret: secret}
	})
}

// RotateWebhookSecret gives an endpoint a new secret. The old one signs for 24 more hours.
// Errors: resource_not_found, resource_conflict after too many rotations in that time.
func (s *Service) RotateWebhookSecret(ctx context.Context, caller Caller, endpointID string) (SignedEndpoint, error) {
	ref := webhook.Ref{ID: endpointID, Livemode: caller.Livemode}
	return s.sign(ctx, caller, endpointID, func(secret webhook.Secret) webhook.Command {
		return webhook.RotateSecret{Ref: ref, Secret: secret}
	})
}

// sign records a command with a new secret for an endpoint.
func (s *Service) sign(ctx context.Context, caller Caller, endpointID string, command func(webhook.Secret) webhook.Command) (SignedEndpoint, error) {
	secret, err := webhook.NewSecret(s.Entropy)
	if err != nil {
		return SignedEndpoint{}, err
	}
	in := caller.intent(webhooks.Stream(caller.AccountID))
	in.created(endpointID)
	e, err := s.changeEndpoint(ctx, in, endpointID, command(s.Sealer.Seal(secret, endpointID)))
	return SignedEndpoint{Endpoint: e, Secret: webhook.FormatSecret(secret)}, err
}

// ChangeWebhookEndpoint changes the settings of an endpoint. The caller has checked that a new
// URL names a public host. Errors: resource_not_found, validation_failed.
func (s *Service) ChangeWebhookEndpoint(ctx context.Context, caller Caller, c webhook.Change) (webhook.Endpoint, error) {
	c.Livemode = caller.Livemode
	return s.changeEndpoint(ctx, caller.intent(webhooks.Stream(caller.AccountID)), c.ID, c)
}

// DisableWebhookEndpoint ends the deliveries to an endpoint. It is idempotent. Error:
// resource_not_found.
func (s *Service) DisableWebhookEndpoint(ctx context.Context, caller Caller, endpointID string) (webhook.Endpoint, error) {
	c := webhook.Disable{Ref: webhook.Ref{ID: endpointID, Livemode: caller.Livemode}}
	return s.changeEndpoint(ctx, caller.intent(webhooks.Stream(caller.AccountID)), endpointID, c)
}

// EnableWebhookEndpoint resumes the deliveries to an endpoint. It is idempotent. Error:
// resource_not_found.
func (s *Service) EnableWebhookEndpoint(ctx context.Context, caller Caller, endpointID string) (webhook.Endpoint, error) {
	c := webhook.Enable{Ref: webhook.Ref{ID: endpointID, Livemode: caller.Livemode}}
	return s.changeEndpoint(ctx, caller.intent(webhooks.Stream(caller.AccountID)), endpointID, c)
}

// DeleteWebhookEndpoint removes an endpoint. Error: resource_not_found, also for a deleted one.
func (s *Service) DeleteWebhookEndpoint(ctx context.Context, caller Caller, endpointID string) error {
	c := webhook.Delete{Ref: webhook.Ref{ID: endpointID, Livemode: caller.Livemode}}
	_, err := s.changeEndpoint(ctx, caller.intent(webhooks.Stream(caller.AccountID)), endpointID, c)
	return err
}

// FailWebhookEndpoint disables an endpoint whose deliveries fail since a time. It is idempotent. disabled is false
// when the endpoint got another address or was enabled since then. Error: resource_not_found for an endpoint that
// was deleted.
func (s *Service) FailWebhookEndpoint(ctx context.Context, e webhook.Endpoint, failedAt time.Time) (disabled bool, err error) {
	in := intent{accountID: e.AccountID, meta: s.systemMeta(Cause{}, e.AccountID, "webhooks")}
	in.streams = append(in.streams, webhooks.Stream(e.AccountID))
	e, err = s.changeEndpoint(ctx, in, e.ID, webhook.Fail{Ref: webhook.Ref{ID: e.ID, Livemode: e.Livemode}, FailedAt: failedAt})
	return err == nil && !e.Enabled(), err
}

// WarnWebhookEndpoint records that the owner is warned of an endpoint whose attempts have all failed since a time. It is
// idempotent. Error: resource_not_found for an endpoint that was deleted.
func (s *Service) WarnWebhookEndpoint(ctx context.Context, e webhook.Endpoint, failingSince time.Time) error {
	in := intent{accountID: e.AccountID, meta: s.systemMeta(Cause{}, e.AccountID, "webhooks")}
	in.streams = append(in.streams, webhooks.Stream(e.AccountID))
	c := webhook.WarnOwner{Ref: webhook.Ref{ID: e.ID, Livemode: e.Livemode}, FailingSince: failingSince}
	_, err := s.changeEndpoint(ctx, in, e.ID, c)
	return err
}

// Notice is an email to the owner of a webhook endpoint that fails.
type Notice struct {
	AccountID  string `json:"account_id"`
	EndpointID string `json:"endpoint_id"`
	// Position is that of the event that caused the notice. It identifies the notice.
	Position int64 `json:"position" river:"unique"`
	// Disabled tells that the endpoint is disabled. Otherwise the notice is the warning before.
	Disabled bool `json:"disabled"`
	// At is the time of the event, and FailingSince that of the first failure; the latter is zero if Disabled.
	At           time.Time `json:"at"`
	FailingSince time.Time `json:"failing_since"`
}

// changeEndpoint records a command on the endpoints of an account. It returns the endpoint
// afterwards.
func (s *Service) changeEndpoint(ctx context.Context, in intent, endpointID string, c webhook.Command) (e webhook.Endpoint, err error) {
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		state, err := webhooks.record(ss, in.accountID, c)
		e, _ = state.Endpoint(endpointID)
		return err
	})
	return e, err
}
