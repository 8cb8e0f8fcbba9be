package main

import (
	"context"
	"time"

	"vqa/handlers/webhook"
)

// attempted records an attempt to deliver a webhook.
func (m *meter) attempted(attempt int, outcome webhook.AttemptOutcome, after time.Duration) {
	m.attempts.WithLabelValues(string(outcome)).Inc()
	if attempt == 1 {
		m.dispatch.Observe(max(0, after.Seconds()))
	}
}

// webhookReadings are the metrics of all webhooks. They are equal on all nodes.
func (s *server) webhookReadings(emit emitter) {
	ctx, cancel := context.WithTimeout(context.Background(), readHeaderTimeout)
	defer cancel()
	oldest, failing, disabled := -1.0, -1.0, -1.0
	if b, err := s.deliveries.Backlog(ctx, s.clock.Now()); err == nil {
		oldest, failing, disabled = b.Oldest.Seconds(), float64(b.Failing), float64(b.Disabled)
	}
	emit("vqa_webhook_oldest_due_seconds", "How long the delivery that waits the longest for an attempt has been due; -1 when unknown.", oldest)
	emit("vqa_webhook_endpoints_failing", "Webhook endpoints with failures since their last success; -1 when unknown.", failing)
	emit("vqa_webhook_endpoints_disabled", "Webhook endpoints that are disabled because all attempts failed; -1 when unknown.", disabled)
}
