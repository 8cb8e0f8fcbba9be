package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"
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

// emitter takes a value. A name that ends in _total is that of a counter, and any other one that of a gauge. A label is
// its name and its value.
type emitter func(name, help string, value float64, label ...string)

// readings is a collector of values that are read at each scrape.
type readings func(emit emitter)

// Describe implements prometheus.Collector. Some labels are known only at a scrape, so it describes nothing.
func (readings) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (r readings) Collect(all chan<- prometheus.Metric) {
	r(func(name, help string, value float64, label ...string) {
		kind, labels := prometheus.GaugeValue, prometheus.Labels{}
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		if len(label) > 0 {
			labels[label[0]] = label[1]
		}
		all <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), kind, value)
	})
}

// createReadings are the metrics of the bound on live creates.
func createReadings(creates *edge.Creates) readings {
	return func(emit emitter) {
		stats := creates.Stats()
		for reason, n := range stats.Shed {
			emit("vqa_creates_shed_total", "Live creates that were refused because the node could not record them in time, by reason: busy or slow.", float64(n), "reason", reason)
		}
		emit("vqa_creates_limit", "Live creates that this node carries out at once.", float64(stats.Bound))
		emit("vqa_creates_in_service", "Live creates that this node carries out now.", float64(stats.Inside))
		emit("vqa_creates_waiting", "Live creates that wait for a place.", float64(stats.Waiting))
		emit("vqa_creates_service_seconds", "Latest mean time in service of a live create.", stats.Mean.Seconds())
	}
}

// metrics serves the metrics of this process and of its database pool.
func (s *server) metrics() http.Handler {
	s.meter.registry.MustRegister(readings(s.alarms.readings), createReadings(s.creates), readings(s.readings), readings(s.webhookReadings), readings(s.streamReadings))
	return promhttp.HandlerFor(s.meter.registry, promhttp.HandlerOpts{})
}

// readings are the other values of this node.
func (s *server) readings(emit emitter) {
	ctx, cancel := context.WithTimeout(context.Background(), readHeaderTimeout)
	defer cancel()
	blocked, free, queued := -1.0, -1.0, -1.0
	if d, known := s.writers.Blocked(); known {
		blocked = d.Seconds()
	}
	if n, known, err := s.objects.Free(); err == nil && known {
		free = float64(n)
	}
	if n, err := s.resources.QueuedAnalyses(ctx); err == nil {
		queued = float64(n)
	}
	pool := s.pool.Stat()
	emit("vqa_db_connections", "Connections to Postgres.", float64(pool.TotalConns()))
	emit("vqa_db_connections_in_use", "Connections to Postgres that are in use.", float64(pool.AcquiredConns()))
	emit("vqa_log_blocked_seconds", "Time for which the oldest open transaction has blocked the readers of the log; 0 when there is none, -1 when unknown.", blocked)
	emit("vqa_storage_free_bytes", "Bytes that can still be written to the disk of the object store; -1 when the store has no such limit or it is unknown.", free)
	emit("vqa_storage_min_free_bytes", "Free bytes below which uploads and fetches are refused (VQA_MIN_FREE_SPACE).", float64(s.config.MinFreeSpace))
	emit("vqa_clock_ahead_seconds", "How far the clock of this machine is ahead of the database's. The service uses the database's.", s.clock.Offset().Seconds())
	emit("vqa_ledger_witnesses", "Configured witnesses of the ledger's checkpoints.", float64(len(s.logSealer.Witnesses)))
	emit("vqa_ledger_cosignatures", "Witnesses that have cosigned the newest checkpoint that this node has seen.", float64(len(s.logSealer.Newest().Cosigned)))
	emit("vqa_ledger_witness_quorum", "Witnesses that must have cosigned a checkpoint before the next one is signed (VQA_LEDGER_WITNESS_QUORUM).", float64(s.logSealer.Quorum))
	emit("vqa_analyses_queued", "Queued live analyses; -1 when unknown.", queued)
}
