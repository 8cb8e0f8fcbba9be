package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"vqa/domain/analysis"
	"vqa/eventstore"
	"vqa/gpu"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/webhook"
)

// meter holds the Prometheus metrics of this process. Every label has a closed set of values:
// operations of the API, error codes, HTTP statuses and outcomes.
type meter struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	analyses  *prometheus.CounterVec
	billed    prometheus.Counter
	queueWait prometheus.Histogram
	engine    *prometheus.HistogramVec
	dispatch  prometheus.Histogram
	attempts  *prometheus.CounterVec
	streams   *streamMeter
}

// Buckets of the histograms, in seconds. A request waits up to 120 s with "Prefer: wait", a queued
// analysis up to an hour, and an engine up to VQA_INFERENCE_TIMEOUT.
var (
	requestBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	waitBuckets    = []float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600}
	engineBuckets  = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
)

func newMeter() *meter {
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	histogram := func(name, help string, bounds []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}
	}
	m := &meter{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(counter("vqa_http_requests_total",
			"Requests by operation of the API (none for other paths) and status."), []string{"operation", "status"}),
		refusals: prometheus.NewCounterVec(counter("vqa_http_errors_total",
			"Error responses by error code."), []string{"code"}),
		latency: prometheus.NewHistogramVec(histogram("vqa_http_request_seconds",
			"Time from a request to the end of its response, without event streams.", requestBuckets), []string{"operation"}),
		analyses: prometheus.NewCounterVec(counter("vqa_analyses_total",
			"Analyses that ended, by outcome: yes, no, indeterminate, failed or canceled."), []string{"outcome"}),
		billed: prometheus.NewCounter(counter("vqa_billed_seconds_total", "Credit-seconds billed for analyses.")),
		queueWait: prometheus.NewHistogram(histogram("vqa_analysis_queue_wait_seconds",
			"Time from the creation of an analysis to its first attempt.", waitBuckets)),
		engine: prometheus.NewHistogramVec(histogram("vqa_engine_request_seconds",
			"Time of one request to the inference engine, by outcome: ok or failed.", engineBuckets), []string{"outcome"}),
		dispatch: prometheus.NewHistogram(histogram("vqa_webhook_dispatch_seconds",
			"Time from an event to the first attempt to deliver it.", waitBuckets)),
		attempts: prometheus.NewCounterVec(counter("vqa_webhook_attempts_total",
			"Attempts to deliver a webhook by outcome: accepted, refused or unreached."), []string{"outcome"}),
	}
	for _, outcome := range webhook.AttemptOutcomes() {
		m.attempts.WithLabelValues(string(outcome))
	}
	m.streams = newStreamMeter(m.registry)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.refusals, m.latency, m.analyses, m.billed, m.queueWait, m.engine, m.dispatch, m.attempts)
	return m
}

// answered counts a request.
func (m *meter) answered(a edge.Answered) {
	operation := a.Operation
	if operation == "" {
		operation = "none"
	}
	m.requests.WithLabelValues(operation, strconv.Itoa(a.Status)).Inc()
	if a.Code != "" {
		m.refusals.WithLabelValues(string(a.Code)).Inc()
	}
	if !a.Stream {
		m.latency.WithLabelValues(operation).Observe(a.Took.Seconds())
	}
}

// recorded counts the events that this process appended. The sum over all processes counts each event
// once.
func (m *meter) recorded(events []eventstore.Recorded) {
	for _, r := range events {
		m.streams.recorded(r.Event)
		var usage *analysis.Usage
		outcome := ""
		switch e := r.Event.(type) {
		case analysis.Completed:
			outcome, usage = string(e.Result.Answer), e.Usage
		case analysis.Failed:
			outcome, usage = "failed", e.Usage
		case analysis.Canceled:
			outcome, usage = "canceled", e.Usage
		default:
			continue
		}
		m.analyses.WithLabelValues(outcome).Inc()
		if usage != nil {
			m.billed.Add(float64(usage.BilledSeconds))
		}
	}
}

// waited records the time that an analysis was queued.
func (m *meter) waited(d time.Duration) { m.queueWait.Observe(max(0, d.Seconds())) }

// observedStore calls recorded with the events of each append.
type observedStore struct {
	eventstore.Store
	recorded func([]eventstore.Recorded)
}

// Append implements eventstore.Store.
func (s observedStore) Append(ctx context.Context, batch eventstore.Batch) ([]eventstore.Recorded, error) {
	events, err := s.Store.Append(ctx, batch)
	if err == nil {
		s.recorded(events)
	}
	return events, err
}

// timedEngine measures the time of each request to an engine.
type timedEngine struct {
	gpu.Engine
	took *prometheus.HistogramVec
}

// Detect implements gpu.Engine.
func (e timedEngine) Detect(ctx context.Context, req gpu.Request) (gpu.Response, error) {
	began := time.Now()
	response, err := e.Engine.Detect(ctx, req)
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	e.took.WithLabelValues(outcome).Observe(time.Since(began).Seconds())
	return response, err
}

// createMetrics are the metrics of the bound on live creates.
type createMetrics struct{ *edge.Creates }

var (
	shedDesc = prometheus.NewDesc("vqa_creates_shed_total",
		"Live creates that were refused because the node could not record them in time, by reason: busy or slow.", []string{"reason"}, nil)
	boundDesc   = prometheus.NewDesc("vqa_creates_limit", "Live creates that this node carries out at once.", nil, nil)
	insideDesc  = prometheus.NewDesc("vqa_creates_in_service", "Live creates that this node carries out now.", nil, nil)
	waitingDesc = prometheus.NewDesc("vqa_creates_waiting", "Live creates that wait for a place.", nil, nil)
	meanDesc    = prometheus.NewDesc("vqa_creates_service_seconds", "Latest mean time in service of a live create.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m createMetrics) Describe(all chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, all) }

// Collect implements prometheus.Collector.
func (m createMetrics) Collect(all chan<- prometheus.Metric) {
	stats := m.Stats()
	for reason, n := range stats.Shed {
		all <- prometheus.MustNewConstMetric(shedDesc, prometheus.CounterValue, float64(n), reason)
	}
	for desc, value := range map[*prometheus.Desc]float64{
		boundDesc: float64(stats.Bound), insideDesc: float64(stats.Inside), waitingDesc: float64(stats.Waiting), meanDesc: stats.Mean.Seconds(),
	} {
		all <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
}

// metrics serves the metrics of this process and of its database pool.
func (s *server) metrics() http.Handler {
	gauge := func(name, help string, value func() float64) {
		s.meter.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("vqa_db_connections", "Connections to Postgres.", func() float64 { return float64(s.pool.Stat().TotalConns()) })
	gauge("vqa_db_connections_in_use", "Connections to Postgres that are in use.", func() float64 { return float64(s.pool.Stat().AcquiredConns()) })
	gauge("vqa_log_blocked_seconds", "Time for which the oldest open transaction has blocked the readers of the log; 0 when there is none, -1 when unknown.",
		func() float64 {
			blocked, known := s.writers.Blocked()
			if !known {
				return -1
			}
			return blocked.Seconds()
		})
	gauge("vqa_storage_free_bytes", "Bytes that can still be written to the disk of the object store; -1 when the store has no such limit or it is unknown.",
		func() float64 {
			free, known, err := s.objects.Free()
			if err != nil || !known {
				return -1
			}
			return float64(free)
		})
	gauge("vqa_storage_min_free_bytes", "Free bytes below which uploads and fetches are refused (VQA_MIN_FREE_SPACE).",
		func() float64 { return float64(s.config.MinFreeSpace) })
	gauge("vqa_clock_ahead_seconds", "How far the clock of this machine is ahead of the database's. The service uses the database's.",
		func() float64 { return s.clock.Offset().Seconds() })
	gauge("vqa_ledger_witnesses", "Configured witnesses of the ledger's checkpoints.", func() float64 { return float64(len(s.logSealer.Witnesses)) })
	gauge("vqa_ledger_cosignatures", "Witnesses that have cosigned the newest checkpoint that this node has seen.",
		func() float64 { return float64(len(s.logSealer.Newest().Cosigned)) })
	gauge("vqa_ledger_witness_quorum", "Witnesses that must have cosigned a checkpoint before the next one is signed (VQA_LEDGER_WITNESS_QUORUM).",
		func() float64 { return float64(s.logSealer.Quorum) })
	gauge("vqa_analyses_queued", "Queued live analyses; -1 when unknown.", func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), readHeaderTimeout)
		defer cancel()
		n, err := s.resources.QueuedAnalyses(ctx)
		if err != nil {
			return -1
		}
		return float64(n)
	})
	s.meter.registry.MustRegister(s.alarms, createMetrics{s.creates}, webhookMetrics{s.deliveries, s.clock.Now},
		streamMetrics{s.streams, s.resources, s.config.StreamSlots})
	return promhttp.HandlerFor(s.meter.registry, promhttp.HandlerOpts{})
}
