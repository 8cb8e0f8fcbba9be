package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"vqa/domain/admission"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/eventstore"
	"vqa/gpu"
	"vqa/handlers/httpapi/edge"
	"vqa/streaming/assemble"
	"vqa/streaming/live"
)

// slowEngine returns an error that the test sets.
type slowEngine struct {
	gpu.Engine
	err error
}

// Detect implements gpu.Engine.
func (e slowEngine) Detect(context.Context, gpu.Request) (gpu.Response, error) {
	return gpu.Response{}, e.err
}

func TestMeter(t *testing.T) {
	t.Parallel()
	m := newMeter()
	m.answered(edge.Answered{Operation: "createAnalysis", Status: 202, Took: 30 * time.Millisecond})
	m.answered(edge.Answered{Status: 404, Code: fault.ResourceNotFound, Took: time.Millisecond})
	m.answered(edge.Answered{Operation: "streamEvents", Status: 200, Took: time.Hour, Stream: true})
	m.recorded([]eventstore.Recorded{
		{Event: analysis.Completed{Result: answer.Result{Answer: answer.Yes}, Usage: &analysis.Usage{BilledSeconds: 12}}},
		{Event: analysis.Completed{Result: answer.Result{Answer: answer.Yes}}},
		{Event: analysis.Failed{Usage: &analysis.Usage{}}}, {Event: analysis.Canceled{}}, {Event: analysis.Started{}},
	})
	m.recorded([]eventstore.Recorded{
		{Event: stream.Paused{}}, {Event: stream.Ended{Reason: stream.Completed, Usage: stream.Usage{BilledSeconds: 7}}},
	})
	m.streams.timed(live.Timing{Total: 100 * time.Millisecond, First: 500 * time.Millisecond})
	m.streams.timed(live.Timing{Total: 100 * time.Millisecond})
	m.streams.received(assemble.Counts{Pictures: 30, Dropped: 2, Lost: 5, Late: 1})
	m.waited(2 * time.Second)
	for _, err := range []error{nil, nil, errors.New("away")} {
		_, got := timedEngine{slowEngine{err: err}, m.engine}.Detect(t.Context(), gpu.Request{})
		require.Equal(t, err, got)
	}
	m.registry.MustRegister(createReadings(edge.NewCreates(admission.Default, slog.New(slog.DiscardHandler))))
	page := httptest.NewRecorder()
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`vqa_http_requests_total{operation="createAnalysis",status="202"} 1`,
		`vqa_http_requests_total{operation="none",status="404"} 1`,
		`vqa_http_errors_total{code="resource_not_found"} 1`,
		`vqa_http_request_seconds_count{operation="createAnalysis"} 1`,
		`vqa_analyses_total{outcome="yes"} 2`, `vqa_analyses_total{outcome="failed"} 1`, `vqa_analyses_total{outcome="canceled"} 1`,
		`vqa_billed_seconds_total 12`, `vqa_analysis_queue_wait_seconds_sum 2`,
		`vqa_creates_limit 8`, `vqa_creates_in_service 0`, `vqa_creates_shed_total{reason="busy"} 0`, `vqa_creates_shed_total{reason="slow"} 0`,
		`vqa_streams_ended_total{reason="completed"} 1`, `vqa_streams_ended_total{reason="error"} 0`, `vqa_stream_billed_seconds_total 7`,
		`vqa_stream_gaps_total 1`, `vqa_stream_first_result_seconds_sum 0.5`, `vqa_stream_result_seconds_count 2`,
		`vqa_stream_pictures_total{outcome="complete"} 30`, `vqa_stream_pictures_total{outcome="dropped"} 2`, `vqa_stream_packets_lost_total 5`,
		`vqa_engine_request_seconds_count{outcome="ok"} 2`, `vqa_engine_request_seconds_count{outcome="failed"} 1`,
	} {
		require.Contains(t, page.Body.String(), line+"\n")
	}
	require.NotContains(t, page.Body.String(), `operation="streamEvents",le`, "the reader of a stream decides how long it takes")
}
