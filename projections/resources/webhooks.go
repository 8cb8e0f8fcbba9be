package resources

import (
	"context"

	"vqa/domain/webhook"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// webhookEndpoints has a row for each account, with all its endpoints: at most 10, and none
// that was deleted.
var webhookEndpoints = projections.Model[webhook.State, webhook.Event]{
	Name: "webhook_endpoints", Of: fold.Webhook, Revision: 1, AccountColumn: "id",
	States: func(id string, s webhook.State) []projections.Row {
		return []projections.Row{{ID: id, Doc: s}}
	},
}

// eachEndpoint is a table with a row for each endpoint. The condition on account_id leaves one
// row of webhook_endpoints to unfold.
const eachEndpoint = `(
	select a.id as account_id, e ->> 'id' as id, (e ->> 'livemode')::boolean as livemode,
		(e ->> 'created_at')::timestamptz as created_at, e as doc
	from webhook_endpoints a, json_array_elements(a.doc -> 'endpoints') e) endpoints`

// WebhookEndpoint returns an endpoint of the tenant, or resource_not_found.
func (r *Reader) WebhookEndpoint(ctx context.Context, t Tenant, id string) (webhook.Endpoint, error) {
	e, err := one[webhook.Endpoint](ctx, r.pool,
		"select doc from "+eachEndpoint+" where id = $1 and account_id = $2 and livemode = $3", id, t.AccountID, t.Livemode)
	return e, notFound(err, id)
}

// WebhookEndpoints lists the tenant's endpoints, newest first, and whether there are more.
func (r *Reader) WebhookEndpoints(ctx context.Context, t Tenant, p projections.Page) ([]webhook.Endpoint, bool, error) {
	q := projections.List(eachEndpoint, t.AccountID).Within("livemode = ?", t.Livemode)
	return projections.Rows[webhook.Endpoint](ctx, r.pool, q, p)
}
