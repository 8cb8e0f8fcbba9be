package httpapi

import (
	"fmt"
	"slices"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/projections/public"
)

// sampleTypes are the types of sample events, in the order of preference.
var sampleTypes = []public.Type{public.VideoReady, public.VideoFailed, public.AnalysisCompleted, public.AnalysisFailed, public.AnalysisCanceled, public.StreamEnded}

// sampled is a sample event.
type sampled struct {
	public.Event
	resourceID string
}

// sample returns an event about a resource that does not exist. wanted is its type; by default it is the first
// one that the endpoint subscribes to.
func (s *server) sample(e webhook.Endpoint, wanted string) (sampled, error) {
	kind := public.Type(wanted)
	for _, t := range sampleTypes {
		if kind == "" && slices.Contains(e.Events, string(t)) {
			kind = t
		}
	}
	out := sampled{Event: public.Event{ID: s.Service.IDs.New(id.Event), Type: kind, At: s.Service.Now(), Livemode: e.Livemode}}
	switch kind {
	case public.VideoReady, public.VideoFailed:
		out.video(s, e)
	case public.AnalysisCompleted, public.AnalysisFailed, public.AnalysisCanceled:
		return out, out.analysis(s, e)
	case public.StreamEnded:
		return out, out.stream(s, e)
	default:
		return out, fmt.Errorf("there is no sample of %q", kind)
	}
	return out, nil
}

// video adds the fixture as a video.
func (e *sampled) video(s *server, to webhook.Endpoint) {
	e.resourceID = s.Service.IDs.New(id.Video)
	file := s.Service.Fixture.File()
	var end video.Event = video.Ready{VideoID: e.resourceID, File: file, At: e.At}
	if e.Type == public.VideoFailed {
		end = video.Failed{VideoID: e.resourceID, Error: video.Failure{Code: fault.URLFetchFailed, Message: "The server of the video did not respond."}, At: e.At}
	}
	v := after[video.State, video.Event](video.Evolve,
		video.Registered{
			VideoID: e.resourceID, AccountID: to.AccountID, Livemode: to.Livemode, Source: video.SourceURL, URL: "https://example.com/" + s.Service.Fixture.Filename(),
			Filename: new(s.Service.Fixture.Filename()), ContentType: file.ContentType, Fixture: true, At: e.At,
		}, end)
	e.Video, e.Sequence = &v, 2
}

// analysis adds an analysis of the fixture.
func (e *sampled) analysis(s *server, to webhook.Endpoint) error {
	m, err := s.Service.Catalog.Resolve("", e.At)
	if err != nil {
		return err
	}
	e.resourceID = s.Service.IDs.New(id.Analysis)
	asked := english.Compile(s.Fixture.Prompt)
	var end analysis.Event = analysis.Completed{AnalysisID: e.resourceID, Attempt: 1, Result: s.Service.Fixture.Answer(asked), At: e.At}
	switch e.Type {
	case public.AnalysisFailed:
		end = analysis.Failed{AnalysisID: e.resourceID, Error: analysis.Failure{Code: fault.InferenceError, Message: "The analysis failed."}, At: e.At}
	case public.AnalysisCanceled:
		end = analysis.Canceled{AnalysisID: e.resourceID, At: e.At}
	default: // it is completed
	}
	a := after[analysis.State, analysis.Event](analysis.Evolve,
		analysis.Created{
			AnalysisID: e.resourceID, AccountID: to.AccountID, VideoID: s.Service.IDs.New(id.Video), Livemode: to.Livemode, Origin: analysis.OriginAPI,
			Prompt: &s.Fixture.Prompt, Query: asked, ParseMode: analysis.ParseHeuristic, Model: m.ID, At: e.At,
		},
		analysis.Started{AnalysisID: e.resourceID, Attempt: 1, At: e.At}, end)
	e.Analysis, e.Sequence = &a, 3
	return nil
}

// stream adds a live stream that was never joined.
func (e *sampled) stream(s *server, to webhook.Endpoint) error {
	m, err := s.Service.Catalog.Resolve("", e.At)
	if err != nil {
		return err
	}
	e.resourceID = s.Service.IDs.New(id.Stream)
	st := after[stream.State, stream.Event](stream.Evolve,
		stream.Created{
			StreamID: e.resourceID, AccountID: to.AccountID, Livemode: to.Livemode, Prompt: &s.Fixture.Prompt, Query: english.Compile(s.Fixture.Prompt),
			ParseMode: stream.ParseHeuristic, Model: m.ID, MaxSessionSeconds: s.Service.Limits.StreamMaxSessionSeconds,
			WarnAtSeconds: s.Service.Limits.StreamWarnAtSeconds, At: e.At,
		},
		stream.Ended{StreamID: e.resourceID, Reason: stream.Canceled, At: e.At})
	e.Stream, e.Sequence = &st, 2
	return nil
}

// after returns the state after some events.
func after[S, E any](evolve func(S, E) S, events ...E) (state S) {
	for _, e := range events {
		state = evolve(state, e)
	}
	return state
}
