// Package webhook decides the life of webhook endpoints and of deliveries. It has the rules
// of delivery that need no network: which endpoints an event goes to, when the next attempt
// is made, and when a failing endpoint is disabled.
//
// # A webhook endpoint of an account
//
//	endpoint               | command      | next      | event
//	(none)                 | Create       | enabled   | webhook.created
//	(none)                 | any          | unchanged | refused with resource_not_found
//	any                    | Create       | unchanged | refused with resource_conflict
//	any                    | Change       | unchanged | webhook.changed
//	any                    | RotateSecret | unchanged | webhook.secret_rotated
//	any                    | Delete       | (none)    | webhook.deleted
//	enabled                | WarnOwner    | enabled   | webhook.warned
//	enabled                | Disable      | disabled  | webhook.disabled
//	enabled                | Fail         | failed    | webhook.disabled
//	disabled, failed       | Enable       | enabled   | webhook.enabled
//	any                    | any          | unchanged | (none)
//
// The first row that fits applies. "disabled" is an endpoint that its owner disabled, and
// "failed" is one that the service disabled. A Change that changes nothing has no event, and the
// owner is warned once of the same failures.
//
// An account has at most MaxEndpoints endpoints, in both modes together. A key manages and
// an event reaches the endpoints of its own mode only. A deleted endpoint leaves the state.
//
// # Secrets
//
// A rotated secret signs beside the new one for RotationOverlap (Endpoint.Signing). The
// state has secrets only in encrypted form. The caller encrypts them.
//
// # A delivery
//
//	delivery  | command | next      | event
//	delivered | Requeue | unchanged | refused with resource_conflict
//	delivered | any     | unchanged | (none)
//	any       | Deliver | delivered | delivery.delivered
//	dead      | Bury    | unchanged | (none)
//	waiting   | Bury    | dead      | delivery.dead
//	any       | Requeue | waiting   | delivery.requeued
//
// A delivery is one public event for one target. The log has its outcome only, so a
// delivery that waits for an attempt may have no event. "waiting" is such a delivery. A late
// response counts, even of a delivery that was given up.
//
// # Schedule and health
//
// Schedule.Next is when to try again. Health is what the failures of an endpoint mean.
// Both get time and randomness from the caller.
//
// It may import the standard library, domain/fault and domain/id, never a sibling aggregate.
package webhook
