package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"vqa/domain/stream"
	"vqa/eventstore"
	"vqa/streaming/assemble"
	"vqa/streaming/live"
)

// resultBuckets are the buckets for the results of live streams, in seconds. The first result comes within the
// first-frame window, 15 s by default.
var resultBuckets = []float64{.025, .05, .1, .15, .2, .3, .5, 1, 2, 5, 10, 15, 30}

// streamMeter holds the metrics of the live streams of this process.
type streamMeter struct {
	ended       *prometheus.CounterVec
	billed      prometheus.Counter
	gaps        prometheus.Counter
	first       prometheus.Histogram
	results     prometheus.Histogram
	pictures    *prometheus.CounterVec
	packetsLost prometheus.Counter
}

func newStreamMeter(registry *prometheus.Registry) *streamMeter {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: resultBuckets})
	}
	m := &streamMeter{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vqa_streams_ended_total", Help: "Live streams that ended, by end reason.",
		}, []string{"reason"}),
		billed:  counter("vqa_stream_billed_seconds_total", "Credit-seconds billed for live streams."),
		gaps:    counter("vqa_stream_gaps_total", "Pauses of the live clock, because no complete picture came for 2 s."),
		first:   histogram("vqa_stream_first_result_seconds", "Time from going live to the first result."),
		results: histogram("vqa_stream_result_seconds", "Time from the last packet of a picture to its result."),
		pictures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vqa_stream_pictures_total",
			Help: "Pictures of live streams that have ended, by outcome: complete, or dropped because a part was lost.",
		}, []string{"outcome"}),
		packetsLost: counter("vqa_stream_packets_lost_total", "Packets of live streams that have ended, which did not come although they were requested again."),
	}
	for _, reason := range []stream.EndReason{
		stream.Completed, stream.Canceled, stream.InsufficientCredits, stream.Failed, stream.Timeout, stream.ICEFailed, stream.MediaTimeout,
	} {
		m.ended.WithLabelValues(string(reason))
	}
	registry.MustRegister(m.ended, m.billed, m.gaps, m.first, m.results, m.pictures, m.packetsLost)
	return m
}

// recorded counts an event that this process appended.
func (m *streamMeter) recorded(e eventstore.Event) {
	switch e := e.(type) {
	case stream.Paused:
		m.gaps.Inc()
	case stream.Ended:
		m.ended.WithLabelValues(string(e.Reason)).Inc()
		m.billed.Add(float64(e.Usage.BilledSeconds))
	}
}

// timed records the times of a result.
func (m *streamMeter) timed(t live.Timing) {
	m.results.Observe(max(0, t.Total.Seconds()))
	if t.First > 0 {
		m.first.Observe(t.First.Seconds())
	}
}

// received counts the media of a session that has ended.
func (m *streamMeter) received(c assemble.Counts) {
	m.pictures.WithLabelValues("complete").Add(float64(c.Pictures))
	m.pictures.WithLabelValues("dropped").Add(float64(c.Dropped))
	m.packetsLost.Add(float64(c.Lost))
}

// streamReadings are the metrics of the live streams that have not ended.
func (s *server) streamReadings(emit emitter) {
	ctx, cancel := context.WithTimeout(context.Background(), readHeaderTimeout)
	defer cancel()
	queued := -1
	if n, err := s.resources.QueuedStreams(ctx, true); err == nil {
		queued = n
	}
	ready, live := s.streams.Count()
	emit("vqa_streams_live", "Live streams on this node.", float64(live))
	emit("vqa_streams_ready", "Streams with a slot of this node that wait for their client.", float64(ready))
	emit("vqa_stream_slots", "Streams that this node runs at once (VQA_STREAM_SLOTS).", float64(s.config.StreamSlots))
	emit("vqa_streams_queued", "Streams of live mode that wait for a slot, on all nodes; -1 when unknown.", float64(queued))
}
