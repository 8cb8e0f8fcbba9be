package httpapi_test

import (
	"github.com/stretchr/testify/require"

	"vqa/domain/webhook"
	"vqa/projections"
	"vqa/projections/resources"
)

// hook returns a new webhook endpoint of the holder, its only one.
func (w *table) hook(h *holder) string {
	w.removeEndpoints(h)
	e, err := w.service.CreateWebhookEndpoint(w.t.Context(), h.caller, webhook.Settings{URL: "https://example.com/hook", Events: webhook.EventTypes()})
	require.NoError(w.t, err)
	return e.ID
}

// failedDelivery returns a delivery to an endpoint of the holder that waits for its next attempt.
func (w *table) failedDelivery(h *holder, endpointID string) string {
	t := webhooked{world: w.world, accountID: h.caller.AccountID, livemode: h.caller.Livemode, endpointID: endpointID}
	return t.delivery("failed", "").id
}

// removeEndpoints keeps the holder below the limit of endpoints.
func (w *table) removeEndpoints(h *holder) {
	t := resources.Tenant{AccountID: h.caller.AccountID, Livemode: h.caller.Livemode}
	all, _, err := resources.NewReader(w.pool).WebhookEndpoints(w.t.Context(), t, projections.Page{Limit: 100})
	require.NoError(w.t, err)
	for _, e := range all {
		require.NoError(w.t, w.service.DeleteWebhookEndpoint(w.t.Context(), h.caller, e.ID))
	}
}
