package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vqa/handlers/webhook"
	"vqa/projections/deliveries"
)

// attempted records an attempt to deliver a webhook.
func (m *meter) attempted(attempt int, outcome webhook.AttemptOutcome, after time.Duration) {
	m.attempts.WithLabelValues(string(outcome)).Inc()
	if attempt == 1 {
		m.dispatch.Observe(max(0, after.Seconds()))
	}
}

// webhookMetrics are the metrics of all webhooks. They are equal on all nodes.
type webhookMetrics struct {
	*deliveries.Store
	now func() time.Time
}

var (
	webhookOldestDesc = prometheus.NewDesc("vqa_webhook_oldest_due_seconds",
		"How long the delivery that waits the longest for an attempt has been due; -1 when unknown.", nil, nil)
	webhookFailingDesc = prometheus.NewDesc("vqa_webhook_endpoints_failing",
		"Webhook endpoints with failures since their last success; -1 when unknown.", nil, nil)
	webhookDisabledDesc = prometheus.NewDesc("vqa_webhook_endpoints_disabled",
		"Webhook endpoints that are disabled because all attempts failed; -1 when unknown.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m webhookMetrics) Describe(all chan<- *prometheus.Desc) {
	all <- webhookOldestDesc
	all <- webhookFailingDesc
	all <- webhookDisabledDesc
}

// Collect implements prometheus.Collector.
func (m webhookMetrics) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readHeaderTimeout)
	defer cancel()
	oldest, failing, disabled := -1.0, -1.0, -1.0
	if b, err := m.Backlog(ctx, m.now()); err == nil {
		oldest, failing, disabled = b.Oldest.Seconds(), float64(b.Failing), float64(b.Disabled)
	}
	all <- prometheus.MustNewConstMetric(webhookOldestDesc, prometheus.GaugeValue, oldest)
	all <- prometheus.MustNewConstMetric(webhookFailingDesc, prometheus.GaugeValue, failing)
	all <- prometheus.MustNewConstMetric(webhookDisabledDesc, prometheus.GaugeValue, disabled)
}
