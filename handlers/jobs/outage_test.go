package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/incident"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/jobs"
)

// living are the nodes that are alive.
type living map[string]bool

func (l living) Alive(context.Context) (func(string) bool, error) {
	return func(node string) bool { return l[node] }, nil
}

// switched is an engine that can be made not to answer.
type switched struct{ away error }

func (s *switched) ready(context.Context) error { return s.away }

func (w *world) outages(engine *switched, nodes living, node string) *jobs.Outages {
	return &jobs.Outages{
		Ready: engine.ready, Commands: w.Service, Read: w.resources, Nodes: nodes, Node: node, Now: w.now, Log: w.log,
	}
}

func (w *world) incidents(t *testing.T, open bool) []incident.State {
	t.Helper()
	all, err := w.resources.Incidents(t.Context(), open, 10)
	require.NoError(t, err)
	return all
}

func TestAnOutageIsAnIncident(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Incidents = w.resources
	engine := &switched{away: errors.New("connection refused")}
	o := w.outages(engine, living{"node_1": true}, "node_1")
	require.NoError(t, o.Check(t.Context()))
	w.skip(59 * time.Second)
	require.NoError(t, o.Check(t.Context()))
	require.Empty(t, w.incidents(t, true), "a worker may be started again")
	w.skip(2 * time.Second)
	require.NoError(t, o.Check(t.Context()))
	require.NoError(t, o.Check(t.Context()))
	require.Len(t, w.incidents(t, true), 1, "one is enough")

	run := w.ask(t, w.readyVideo(t, shortClip))
	_, _, err := w.ClaimAnalysis(t.Context(), run, "node_1")
	require.NoError(t, err)
	require.NoError(t, w.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.StuckTimeout, Message: "lost"}))
	require.True(t, w.analysis(t, run).RerunEligible())

	engine.away = nil
	require.NoError(t, o.Check(t.Context()))
	require.Empty(t, w.incidents(t, true))
	require.Len(t, w.incidents(t, false), 1)
	again, err := w.RerunAnalysis(t.Context(), w.caller, run.AnalysisID)
	require.NoError(t, err)
	require.Equal(t, analysis.Queued, again.Status)
}

// silent is an engine that reports ready and answers no request.
type silent struct{ gpu.Engine }

func (silent) Detect(context.Context, gpu.Request) (gpu.Response, error) {
	return gpu.Response{}, &gpu.UnavailableError{Err: errors.New("no answer in time")}
}

func TestASilentEngineIsAnIncident(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Incidents = w.resources
	z := w.analyzer(silent{&gpufixture.Engine{}})
	z.Patience = time.Nanosecond
	v := w.readyVideo(t, shortClip)
	run := w.ask(t, v)
	for range 2 {
		require.ErrorContains(t, z.Run(t.Context(), run), "paused: engine")
		require.False(t, w.analysis(t, run).Status.Terminal(), "the analysis waits")
		run.Attempt++
	}
	open := w.incidents(t, true)
	require.Len(t, open, 1, "one is enough")
	require.Equal(t, "node", open[0].Node)
	require.NoError(t, w.outages(&switched{}, living{"node": true}, "node").Check(t.Context()))
	require.Empty(t, w.incidents(t, true), "the check closes it")
	require.NoError(t, w.analyzer(&gpufixture.Engine{Detections: seen}).Run(t.Context(), run))
	require.Equal(t, analysis.CompletedStatus, w.analysis(t, run).Status)
	w.requireBilled(t, shortS)
}

func TestAShortAbsenceIsNotAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	engine := &switched{}
	o := w.outages(engine, living{}, "node_1")
	for range 3 {
		engine.away = errors.New("starting")
		require.NoError(t, o.Check(t.Context()))
		w.skip(50 * time.Second)
		engine.away = nil
		require.NoError(t, o.Check(t.Context()))
		w.skip(50 * time.Second)
	}
	engine.away = fault.New(fault.CapacityExhausted, "")
	for range 2 {
		require.NoError(t, o.Check(t.Context()))
		w.skip(2 * time.Minute)
	}
	require.Empty(t, w.incidents(t, false), "an engine without room answers")
}

func TestOutagesOfOtherNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reported := map[string]string{}
	for _, node := range []string{"node_2", "node_gone"} {
		i, err := w.ReportOutage(t.Context(), "The engine is down", node)
		require.NoError(t, err)
		reported[node] = i.ID
	}
	byHand, err := w.OpenIncident(t.Context(), "The network is slow", "jo")
	require.NoError(t, err)
	require.NoError(t, w.outages(&switched{}, living{"node_1": true, "node_2": true}, "node_1").Check(t.Context()))
	var open []string
	for _, i := range w.incidents(t, true) {
		open = append(open, i.ID)
	}
	require.ElementsMatch(t, []string{reported["node_2"], byHand.ID}, open,
		"the incidents of a node that is alive and of an operator stay open")
}
