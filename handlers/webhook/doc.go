// Package webhook delivers the public events of the log to the endpoints of accounts, and to the
// addresses that analyses name for their own events (docs/contract.md#webhook-deliveries).
//
//	log ─▶ Subscriber ─▶ body and deliveries ─▶ Dispatcher ─▶ attempt ─▶ receiver
//	                     (projections/deliveries)    │
//	log ◀── delivery.delivered, delivery.dead ◀──────┘
//
// # Planning
//
// The Subscriber renders each public event once and stores the bytes. It adds one delivery for each
// endpoint that subscribed to the event at its position in the log, and one for the address of the
// analysis, if it names one. The key of a delivery is the event and the target, so that a message that
// the feed delivers again adds nothing. Verify compares the deliveries with the log.
//
// All accounts share the Subscriber, so nothing that an account repeats may make its events expensive. The
// endpoints are read from their snapshot, and a requeue that its request has carried out costs one query.
//
// # Attempts
//
// The Dispatcher claims due deliveries in turns of their targets (projections/deliveries) while the
// node holds its lease. It looks for them after each plan in this process, when the next one is due,
// and every second. When the lease is over, it cancels all attempts.
//
// One attempt sends the stored bytes with a new timestamp and new signatures. It takes at most 10 s.
//
//	answer                       next
//	2xx                          delivered
//	any other answer, or none    the next attempt of the schedule; after the last one, dead
//	no attempt: the endpoint is disabled or deleted, or the resource was deleted: dead
//
// Before a delivery ends, its outcome is appended to the log. A crash between the two repeats the
// attempt. The receiver gets the event again, with the same id.
//
// # Signatures
//
// A request has the headers of Standard Webhooks: webhook-id (the id of the event), webhook-timestamp
// (seconds) and webhook-signature. After a rotation of its secret an endpoint gets two signatures for
// 24 hours. Requests to the address of an analysis are not signed, because there is no shared secret.
//
// # Long bodies
//
// A body over 256 KiB is cut until it fits, and data.truncated is true. The ends of these lists are
// cut, in this order: result.clips, result.count_evidence, narrative.entries, result.receipt.sampled,
// and the lists of query. A body that is still too long keeps id, object, livemode and status of its
// resource.
//
// It may import domain, eventstore, eventstore/fold, handlers/command, handlers/intake/egress,
// projections/deliveries and projections/public.
package webhook
