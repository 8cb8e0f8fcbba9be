package httpapi

import (
	"context"
	"strings"
	"time"

	"vqa/domain/stream"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections/resources"
)

// showStream renders a live stream for a response. One with results_summary.frames says that the field is deprecated.
func (s *server) showStream(ctx context.Context, st resources.Stream) api.Stream {
	if st.Summary != nil {
		edge.ExchangeOf(ctx).Deprecated(edge.DeprecatedSummaryFrames)
	}
	return s.renderStream(ctx, st)
}

// renderStream renders a live stream.
func (s *server) renderStream(ctx context.Context, st resources.Stream) api.Stream {
	out := api.Stream{
		Id: st.ID, Object: api.StreamObjectStream, Livemode: st.Livemode, Status: api.StreamStatus(st.Status), Prompt: st.Prompt,
		Query: &st.Query, Model: st.Model, QueuePosition: st.QueuePosition, EstimatedStartS: st.EstimatedStartS,
		Metadata: metadata(st.Metadata), CreatedAt: stamp(st.CreatedAt), LiveStartedAt: stampOf(st.LiveAt), EndedAt: stampOf(st.EndedAt),
		Limits: &api.StreamLimits{MaxSessionS: int(st.MaxSessionSeconds), WarnAtRemainingS: int(st.WarnAtSeconds)},
	}
	if st.RecordingStatus != "" {
		out.Recording = &api.Recording{Status: api.RecordingStatus(st.RecordingStatus)}
		if f := st.RecordingFailure; f != nil {
			out.Recording.Error = &api.RecordingError{Code: f.Code, Message: f.Message}
		}
	}
	if st.Status != stream.EndedStatus {
		out.Signaling = &api.Signaling{Url: s.socketURL("/v1/streams/" + st.ID + "/signal"), ExpiresAt: stamp(s.joinableUntil(st.State))}
		out.IceServers = renderICEServers(s.Live.ICEServers(ctx, st.State))
		return out
	}
	out.EndReason = new(api.StreamEndReason(st.Reason))
	out.DurationS = new(int(st.DurationSeconds()))
	if st.Usage != nil {
		out.Usage = &api.StreamUsage{BilledSeconds: st.Usage.BilledSeconds, CreditBalanceAfter: st.Usage.BalanceAfter}
	}
	if st.Summary != nil {
		out.ResultsSummary = s.renderSummary(*st.Summary)
	}
	if d := st.Diagnostic; d != nil {
		out.FailureDiagnostic = &api.FailureDiagnostic{LocalCandidates: append([]string{}, d.LocalCandidates...), Hint: d.Hint}
	}
	return out
}

// joinableUntil is when the stream ends unless its client does something, or its session is over.
func (s *server) joinableUntil(st stream.State) time.Time {
	switch {
	case st.Status == stream.Queued:
		return st.CreatedAt.Add(queuedLife)
	case st.LiveAt != nil:
		return st.LiveAt.Add(time.Duration(st.MaxSessionSeconds) * time.Second)
	default:
		at, _, _ := st.Deadline(s.StreamWindows)
		return at
	}
}

// socketURL returns the address of a WebSocket of this service.
func (s *server) socketURL(path string) string {
	return "ws" + strings.TrimPrefix(s.url(path), "http")
}

func renderICEServers(servers []ICEServer) *[]api.IceServer {
	if servers == nil {
		return nil
	}
	out := make([]api.IceServer, len(servers))
	for i, server := range servers {
		out[i] = api.IceServer{Urls: server.URLs, Username: server.Username, Credential: server.Credential}
	}
	return &out
}

func (s *server) renderSummary(sum stream.Summary) *api.ResultsSummary {
	out := &api.ResultsSummary{ResultFrames: int(sum.ResultFrames), Frames: int(sum.ResultFrames), LastDetections: make([]api.StreamDetection, len(sum.LastDetections))}
	for i, r := range sum.LastDetections {
		d := &out.LastDetections[i]
		d.IndeterminateReason, d.UnsupportedAction = s.renderReason(r.IndeterminateReason, r.UnsupportedAction)
		d.TS, d.Answer, d.Confidence, d.DetectedCount = r.AtS, api.StreamDetectionAnswer(r.Answer), r.Confidence, r.DetectedCount
		d.Detections = make([]struct {
			Box        []float64 `json:"box"`
			Confidence float64   `json:"confidence"`
			Term       string    `json:"term"`
		}, len(r.Detections))
		for j, found := range r.Detections {
			d.Detections[j].Term, d.Detections[j].Confidence, d.Detections[j].Box = found.Term, found.Confidence, found.Box[:]
		}
		if n := r.NarrativeUpdate; n != nil {
			d.NarrativeUpdate = &struct {
				TS   float64 `json:"t_s"`
				Text string  `json:"text"`
			}{n.AtS, n.Text}
		}
	}
	return out
}
