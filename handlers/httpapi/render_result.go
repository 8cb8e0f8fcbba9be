package httpapi

import (
	"context"
	"strings"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/handlers/artifact"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/objects"
)

// renderResult renders a result.
func (s *server) renderResult(r answer.Result) api.Result {
	out := api.Result{
		Answer: api.ResultAnswer(r.Answer), Confidence: r.Confidence, Clips: renderClips(r.Clips), CountEvidence: renderClips(r.CountEvidence),
		TermConfidences: termConfidences(r.TermConfidences), QueryType: api.QueryType(r.QueryType),
		VideoDurationS: r.VideoDurationS, DetectedCount: r.DetectedCount, Receipt: renderReceipt(r.Receipt),
	}
	if r.IndeterminateReason != nil && *r.IndeterminateReason == query.NothingDetected {
		// Results that were stored before result rule 4 covered every form have no count
		// (docs/contract.md#result-4).
		out.DetectedCount = new(int)
	}
	out.IndeterminateReason, out.UnsupportedAction = s.renderReason(r.IndeterminateReason, r.UnsupportedAction)
	if r.Undecided != "" {
		out.Undecided = &r.Undecided
	}
	return out
}

// renderReason renders why a result is indeterminate. A relative docs_url becomes a URL of this service.
func (s *server) renderReason(r *query.Reason, u *answer.UnsupportedAction) (reason *api.IndeterminateReason, unsupported *api.UnsupportedAction) {
	if r != nil {
		reason = new(api.IndeterminateReason(*r))
	}
	if u == nil {
		return reason, nil
	}
	docs := u.DocsURL
	if strings.HasPrefix(docs, "/") {
		docs = s.url(docs)
	}
	return reason, &api.UnsupportedAction{Reason: u.Reason, DocsUrl: docs}
}

// renderClips renders clips. The list is never null.
func renderClips(clips []answer.Clip) []api.Clip {
	out := make([]api.Clip, len(clips))
	for i, c := range clips {
		out[i] = api.Clip{StartS: c.StartS, EndS: c.EndS, Confidence: c.Confidence, Terms: termConfidences(c.Terms)}
	}
	return out
}

func termConfidences(m map[string]float64) api.TermConfidences {
	if m == nil {
		return api.TermConfidences{}
	}
	return m
}

// renderReceipt renders a receipt. Results from before receipts existed have none.
func renderReceipt(r *answer.Receipt) *api.Receipt {
	if r == nil {
		return nil
	}
	out := &api.Receipt{
		Model:         api.ReceiptModel{Id: r.Model.ID, Name: r.Model.Name, Weights: r.Model.Weights, Digest: r.Model.Digest},
		WorkerVersion: r.WorkerVersion, QueryDigest: r.QueryDigest, Frames: r.Frames, Sampled: make([]api.SampleRun, len(r.Sampled)),
	}
	for i, s := range r.Sampled {
		out.Sampled[i] = api.SampleRun{StartS: s.StartS, StepS: s.StepS, Count: s.Count}
	}
	if o := r.SecondOpinion; o != nil {
		out.SecondOpinion = &api.SecondOpinion{Model: o.Model, Frames: o.Frames}
	}
	if d := r.Duration; d != nil {
		out.Duration = &api.ReceiptDuration{
			ClaimedMicros: d.ClaimedMicros, ComputedMicros: d.ComputedMicros, DecodedMicros: d.DecodedMicros,
		}
	}
	return out
}

// renderNarrative renders a narrative. Its entries are never null.
func renderNarrative(n *analysis.Narrative) *api.Narrative {
	if n == nil {
		return nil
	}
	out := &api.Narrative{Status: api.NarrativeStatus(n.Status), Entries: make([]api.NarrativeEntry, len(n.Entries))}
	for i, e := range n.Entries {
		out.Entries[i] = api.NarrativeEntry{TS: e.AtS, Text: e.Text}
	}
	return out
}

// renderArtifacts signs the URLs of artifacts. The URL of a pending artifact waits until it
// is rendered. If signing fails, the analysis is sent without artifacts.
func (s *server) renderArtifacts(ctx context.Context, a analysis.State) *api.Artifacts {
	if a.Artifacts == nil {
		return nil
	}
	video, err := s.signArtifact(ctx, a.Drawing, a.Artifacts.VideoKey, "annotated.mp4", artifact.VideoType)
	out := &api.Artifacts{AnnotatedVideoUrl: video.URL, ExpiresAt: stamp(video.ExpiresAt)}
	if err == nil && a.Artifacts.SheetKey != "" {
		var sheet objects.Signed
		sheet, err = s.signArtifact(ctx, a.Drawing, a.Artifacts.SheetKey, "contact-sheet.png", artifact.SheetType)
		out.ContactSheetUrl = &sheet.URL
	}
	if err != nil {
		s.Log.WarnContext(ctx, "cannot sign the artifact URLs", "analysis_id", a.ID, "error", err.Error())
		return nil
	}
	return out
}

func (s *server) signArtifact(ctx context.Context, drawing bool, key, filename, contentType string) (objects.Signed, error) {
	if drawing {
		return s.Objects.AwaitedURL(key, filename, contentType, objects.SignedURLLife)
	}
	return s.Objects.DownloadURL(ctx, key, filename, contentType, objects.SignedURLLife)
}
