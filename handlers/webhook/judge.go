package webhook

import (
	"vqa/domain/fault"
	"vqa/domain/webhook"
	"vqa/projections/deliveries"
)

// judge warns about endpoints whose attempts have all failed for 36 hours, and disables those for which it
// were 72 (docs/contract.md#delivery-6).
func (w *worker) judge() {
	failing, err := w.Queue.Failing(w.ctx, w.Now())
	for _, f := range failing {
		if err == nil {
			err = w.judgeOne(f)
		}
	}
	if err != nil && w.ctx.Err() == nil {
		w.Log.WarnContext(w.ctx, "could not judge failing webhook endpoints; trying again", "error", err)
	}
}

func (w *worker) judgeOne(f deliveries.FailingTarget) error {
	state, err := endpointsOf(w.ctx, w.Streams, f.AccountID)
	if err != nil {
		return err
	}
	e, known := state.Endpoint(f.EndpointID)
	if !known || !e.Enabled() || f.FirstFailureAt.Before(e.FailuresSince) {
		_, err := w.Queue.Forget(w.ctx, f.EndpointID)
		return err
	}
	about := []any{"endpoint_id", e.ID, "account_id", e.AccountID, "failing_since", *f.FirstFailureAt}
	switch f.Verdict(w.Now()) {
	case webhook.GiveUp:
		disabled, err := w.Outcomes.FailWebhookEndpoint(w.ctx, e, *f.FirstFailureAt)
		if err != nil && !fault.Has(err, fault.ResourceNotFound) {
			return err
		}
		if first, err := w.Queue.Forget(w.ctx, e.ID); err != nil || !first || !disabled {
			return err
		}
		w.Log.WarnContext(w.ctx, "disabled a webhook endpoint: all attempts failed for 72 hours", about...)
	case webhook.Warn:
		if err := w.Outcomes.WarnWebhookEndpoint(w.ctx, e, *f.FirstFailureAt); err != nil && !fault.Has(err, fault.ResourceNotFound) {
			return err
		}
		if first, err := w.Queue.Warn(w.ctx, e.ID); err != nil || !first {
			return err
		}
		w.Log.WarnContext(w.ctx, "all attempts to a webhook endpoint have failed for 36 hours; it will be disabled after 72", about...)
	case webhook.Healthy:
	}
	return nil
}

// AttemptOutcome is the outcome of an attempt.
type AttemptOutcome string

// The outcomes of attempts.
const (
	Accepted AttemptOutcome = "accepted"
	// Refused means a response other than 2xx, Unreached that there was none.
	Refused   AttemptOutcome = "refused"
	Unreached AttemptOutcome = "unreached"
)

// AttemptOutcomes returns all outcomes.
func AttemptOutcomes() []AttemptOutcome { return []AttemptOutcome{Accepted, Refused, Unreached} }
