package command

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/webhook"
	"vqa/eventstore/fold"
)

var hookSettings = webhook.Settings{URL: "https://example.com/hook", Events: []string{"video.ready"}}

// webhookFlow records at least one event of every type about webhook endpoints and deliveries.
func webhookFlow(t *testing.T, w *world, caller Caller) {
	t.Helper()
	ctx := t.Context()
	ok := func(_ webhook.Endpoint, err error) {
		t.Helper()
		require.NoError(t, err)
	}
	made, err := w.CreateWebhookEndpoint(ctx, caller, hookSettings)
	require.NoError(t, err)
	ok(w.ChangeWebhookEndpoint(ctx, caller, webhook.Change{Ref: webhook.Ref{ID: made.ID}, Events: []string{"video.failed"}}))
	_, err = w.RotateWebhookSecret(ctx, caller, made.ID)
	require.NoError(t, err)
	ok(w.DisableWebhookEndpoint(ctx, caller, made.ID))
	ok(w.EnableWebhookEndpoint(ctx, caller, made.ID))
	require.NoError(t, w.WarnWebhookEndpoint(ctx, made.Endpoint, w.clock.Now()))
	_, err = w.FailWebhookEndpoint(ctx, made.Endpoint, w.clock.Now())
	require.NoError(t, err)
	require.NoError(t, w.DeleteWebhookEndpoint(ctx, caller, made.ID))

	key := webhook.DeliveryKey{DeliveryID: w.IDs.New(id.Delivery), AccountID: caller.AccountID, EventID: "evt_1", Target: made.ID}
	require.NoError(t, w.EndDelivery(ctx, Ending{DeliveryKey: key, Reason: webhook.RetriesExhausted, Attempt: 7}))
	requeued, err := w.RequeueDeliveries(ctx, caller, key)
	require.NoError(t, err)
	require.Equal(t, []webhook.DeliveryKey{key}, requeued)
	delivered := Ending{DeliveryKey: key, Attempt: 8, Status: 204}
	require.NoError(t, w.EndDelivery(ctx, delivered))
	require.NoError(t, w.EndDelivery(ctx, delivered), "an outcome may be recorded again")
	requeued, err = w.RequeueDeliveries(ctx, caller, key)
	require.NoError(t, err)
	require.Empty(t, requeued, "it was delivered")
}

func TestCreateWebhookEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	caller.Idempotency = &Idempotency{Key: "k", Hash: [32]byte{1}}
	made, err := w.CreateWebhookEndpoint(t.Context(), caller, hookSettings)
	require.NoError(t, err)
	require.Equal(t, []webhook.Secret{{Sealed: made.Secret, SealKeyID: "sealed for " + made.ID}}, made.Signing(w.clock.Now()),
		"the secret is sealed for its endpoint")
	require.Equal(t, webhook.State{Endpoints: []webhook.Endpoint{made.Endpoint}}, stateOf(w, webhooks, caller.AccountID))
	receipt, err := w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Equal(t, made.ID, receipt.ResourceID)

	again, err := w.RotateWebhookSecret(t.Context(), Caller{AccountID: caller.AccountID, Livemode: true, RequestID: "req_1"}, made.ID)
	require.NoError(t, err)
	require.NotEqual(t, made.Secret, again.Secret)
	w.clock.advance(webhook.RotationOverlap)
	require.Len(t, again.Signing(w.clock.Now()), 1)
}

// TestTheLimitOfEndpointsHoldsTogether creates endpoints in both modes at once.
func TestTheLimitOfEndpointsHoldsTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live := w.account(0)
	test := live
	test.Livemode = false
	errs := make([]error, 3*webhook.MaxEndpoints)
	var at sync.WaitGroup
	for i := range errs {
		caller := live
		if i%2 == 0 {
			caller = test
		}
		at.Go(func() { _, errs[i] = w.CreateWebhookEndpoint(t.Context(), caller, hookSettings) })
	}
	at.Wait()
	require.Equal(t, map[string]int{"ok": webhook.MaxEndpoints, string(fault.WebhookEndpointLimit): 2 * webhook.MaxEndpoints}, tally(errs))
	require.Len(t, stateOf(w, webhooks, live.AccountID).Endpoints, webhook.MaxEndpoints)
}

func TestEndpointsOfOthersAreUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, stranger := w.account(0), w.account(0)
	made, err := w.CreateWebhookEndpoint(t.Context(), owner, hookSettings)
	require.NoError(t, err)
	test := owner
	test.Livemode = false
	for _, caller := range []Caller{stranger, test} {
		_, err := w.ChangeWebhookEndpoint(t.Context(), caller, webhook.Change{Ref: webhook.Ref{ID: made.ID, Livemode: true}, URL: ptr("https://evil.example")})
		requireFault(t, err, fault.ResourceNotFound)
		_, err = w.RotateWebhookSecret(t.Context(), caller, made.ID)
		requireFault(t, err, fault.ResourceNotFound)
		requireFault(t, w.DeleteWebhookEndpoint(t.Context(), caller, made.ID), fault.ResourceNotFound)
	}
	require.Equal(t, []webhook.Endpoint{made.Endpoint}, stateOf(w, webhooks, owner.AccountID).Endpoints)
}

// TestAFailingEndpointIsDisabledByTheService checks who disabled it.
func TestAFailingEndpointIsDisabledByTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	made, err := w.CreateWebhookEndpoint(t.Context(), caller, hookSettings)
	require.NoError(t, err)
	failed := w.clock.Now()
	for range 2 {
		disabled, err := w.FailWebhookEndpoint(t.Context(), made.Endpoint, failed)
		require.NoError(t, err)
		require.True(t, disabled)
	}
	recorded, err := w.log.ReadStream(t.Context(), fold.Webhook.Stream(caller.AccountID), 0, 10)
	require.NoError(t, err)
	require.Len(t, recorded, 2, "the second time changes nothing")
	require.Equal(t, "system:webhooks", recorded[1].Meta.Actor)
	require.Equal(t, webhook.AutoFailure, recorded[1].Event.(webhook.Disabled).Reason)

	w.clock.advance(time.Hour)
	e, err := w.EnableWebhookEndpoint(t.Context(), caller, made.ID)
	require.NoError(t, err)
	require.True(t, e.Enabled())
	require.Equal(t, w.clock.Now(), e.FailuresSince, "earlier failures do not count")
	disabled, err := w.FailWebhookEndpoint(t.Context(), made.Endpoint, failed)
	require.NoError(t, err)
	require.False(t, disabled)
	require.NoError(t, w.DeleteWebhookEndpoint(t.Context(), caller, made.ID))
	_, err = w.FailWebhookEndpoint(t.Context(), made.Endpoint, w.clock.Now())
	requireFault(t, err, fault.ResourceNotFound)
}
