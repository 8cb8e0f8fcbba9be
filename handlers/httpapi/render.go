package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/objects"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// stamp returns a time as responses show it: in UTC, with milliseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func stampOf(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(stamp(*t))
}

// metadata returns a copy that is never null.
func metadata(m map[string]string) api.Metadata {
	if m == nil {
		return api.Metadata{}
	}
	return maps.Clone(m)
}

// renderVideo renders a video, with URLs signed for this read.
func (s *server) renderVideo(ctx context.Context, v video.State) (api.Video, error) {
	out := api.Video{
		Id: v.ID, Object: api.VideoObjectVideo, Livemode: v.Livemode, Status: api.VideoStatus(v.Status),
		Filename: v.Filename, SizeBytes: v.DeclaredBytes, DurationS: v.DurationS(), ContentType: contentType(v),
		Source: api.VideoSource(v.Source), Metadata: metadata(v.Metadata), ExpiresAt: stampOf(v.ExpiresAt),
		CreatedAt: stamp(v.CreatedAt),
	}
	if f := v.File; f != nil {
		out.SizeBytes, out.Width, out.Height, out.Fps = &f.SizeBytes, f.Width, f.Height, f.FPS
	}
	if v.Error != nil {
		out.Error = &api.ResourceError{Code: string(v.Error.Code), Message: v.Error.Message}
	}
	var err error
	if out.Upload, err = s.renderUpload(ctx, v); err != nil {
		return api.Video{}, err
	}
	out.Media, err = s.renderMedia(ctx, v)
	return out, err
}

// contentType returns the content type of the file. Before the file is fetched, it is
// guessed from the URL, because the contract does not allow null here.
func contentType(v video.State) api.VideoContentType {
	if v.ContentType != "" {
		return api.VideoContentType(v.ContentType)
	}
	if u, err := url.Parse(v.URL); err == nil && strings.EqualFold(path.Ext(u.Path), ".mov") {
		return api.VideoContentTypeVideoquicktime
	}
	return api.VideoContentTypeVideomp4
}

// renderUpload signs the upload URL of a video that awaits its upload.
func (s *server) renderUpload(ctx context.Context, v video.State) (*api.UploadInstructions, error) {
	if v.Status != video.AwaitingUpload || v.ExpiresAt == nil {
		return nil, nil
	}
	life := min(objects.SignedURLLife, v.ExpiresAt.Sub(s.Service.Now()))
	if life <= 0 {
		return nil, nil
	}
	signed, err := s.Objects.UploadURL(ctx, objects.UploadKey(v.ID), v.ContentType, s.Service.Limits.UploadLimit(edge.ExchangeOf(ctx).Caller.Tier, v.DeclaredBytes), life)
	if err != nil {
		return nil, err
	}
	return &api.UploadInstructions{
		Method: api.UploadInstructionsMethod(signed.Method), Url: signed.URL, Headers: signed.Headers, ExpiresAt: stamp(signed.ExpiresAt),
	}, nil
}

// renderMedia signs the playback URL of a ready video with a stored object.
func (s *server) renderMedia(ctx context.Context, v video.State) (*api.SignedMedia, error) {
	if v.Status != video.ReadyStatus || v.Fixture || v.File == nil || v.File.ObjectKey == "" {
		return nil, nil
	}
	name := ""
	if v.Filename != nil {
		name = *v.Filename
	}
	signed, err := s.Objects.DownloadURL(ctx, v.File.ObjectKey, name, v.File.ContentType, objects.SignedURLLife)
	if err != nil {
		return nil, err
	}
	return &api.SignedMedia{Url: signed.URL, ExpiresAt: stamp(signed.ExpiresAt)}, nil
}

// renderAnalysis renders an analysis, with URLs signed for this read.
func (s *server) renderAnalysis(ctx context.Context, a resources.Analysis) api.Analysis {
	out := api.Analysis{
		Id: a.ID, Object: api.AnalysisObjectAnalysis, Livemode: a.Livemode, Origin: api.AnalysisOrigin(a.Origin),
		Status: api.AnalysisStatus(a.Status), VideoId: a.VideoID, Prompt: a.Prompt, Query: a.Query, Model: a.Model,
		Options: api.AnalysisOptions{Narrative: a.Narrative}, QueuePosition: a.QueuePosition, EstimatedStartS: a.EstimatedStartS,
		Metadata: metadata(a.Metadata), CreatedAt: stamp(a.CreatedAt), StartedAt: stampOf(a.StartedAt),
		CompletedAt: stampOf(a.CompletedAt),
	}
	if a.ParseMode != "" {
		out.ParseMode = new(api.ParseMode(a.ParseMode))
	}
	if !a.Status.Terminal() {
		out.Progress = &api.Progress{Stage: string(a.Status), Percent: float64(a.Percent)}
	}
	if a.Result != nil {
		out.Result = new(s.renderResult(*a.Result))
		if a.Livemode && a.StartedAt == nil && a.Result.Answer == answer.Indeterminate {
			out.Suggestions = s.suggestions(ctx, a.Query)
		}
	}
	if a.Error != nil {
		out.Error = &api.ResourceError{Code: string(a.Error.Code), Message: a.Error.Message}
	}
	if a.Usage != nil {
		out.Usage = &api.Usage{
			BilledSeconds: a.Usage.BilledSeconds, CreditBalanceAfter: a.Usage.BalanceAfter, Frames: a.Usage.Frames,
			MeteringRule: new(api.PerSecond),
		}
		out.MeteringRule = new(api.PerSecond)
	}
	out.Narrative, out.Artifacts = renderNarrative(a.Narration), s.renderArtifacts(ctx, a.State)
	if a.Status == analysis.FailedStatus {
		out.RerunEligible = new(a.RerunEligible())
	}
	return out
}

// suggestions returns questions that are answered instead of a query, or nil.
func (s *server) suggestions(ctx context.Context, q query.Query) *[]string {
	known := vocabulary.COCO()
	if s.Vocabulary != nil {
		if terms, ok := s.Vocabulary(ctx); ok {
			known = vocabulary.Of(terms)
		}
	}
	all := answer.Suggestions(q, known)
	if len(all) == 0 {
		return nil
	}
	return &all
}

// renderPreview renders the response to validate_only.
func (s *server) renderPreview(ctx context.Context, p command.PlannedAnalysis) api.AnalysisPreview {
	out := api.AnalysisPreview{
		Object: api.AnalysisPreviewObjectAnalysisPreview, Query: p.Analysis.Query, ParseMode: api.ParseMode(p.Analysis.ParseMode),
		Assessable: p.Assessable, VideoDurationS: p.DurationS, EstimatedSeconds: p.EstimatedSeconds,
	}
	out.EstimatedCostUsd, out.Note = s.cost(p.EstimatedSeconds), note(p)
	if !p.Assessable {
		out.Suggestions = s.suggestions(ctx, p.Analysis.Query)
	}
	return out
}

// note returns why a prompt cannot be answered fully, or nil.
func note(p command.PlannedAnalysis) *string {
	if p.Note == "" {
		return nil
	}
	return &p.Note
}

// cost returns the price of seconds in US dollars, or nil if the seconds are unknown.
func (s *server) cost(seconds *int64) *json.Number {
	if seconds == nil {
		return nil
	}
	cents := s.Pricing.PricePerSecondCents.Mul(decimal.NewFromInt(*seconds))
	// Shift keeps the exact value, unlike division.
	return new(number(cents.Shift(-2)))
}

// number returns a decimal as a JSON number with the same digits.
func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

// renderCredits renders the balance with one page of its transactions.
func (s *server) renderCredits(b credit.State, transactions []ledger.Transaction, more bool) api.Credits {
	out := api.Credits{
		Object: api.CreditsObjectCredits, BalanceSeconds: b.PostedSeconds, HeldSeconds: b.HeldSeconds,
		AvailableSeconds: b.AvailableSeconds(), UsedSeconds: &b.UsedSeconds, Holds: renderHolds(b.Holds),
		Transactions: make([]api.Transaction, len(transactions)), HasMore: more,
	}
	if b.SignupGrantSeconds > 0 {
		out.GrantSeconds = &b.SignupGrantSeconds
	}
	for i, t := range transactions {
		out.Transactions[i] = api.Transaction{
			Id: t.ID, Kind: api.TransactionKind(t.Kind), SecondsDelta: t.SecondsDelta, BalanceAfterSeconds: t.BalanceAfter,
			SourceType: (*string)(t.SourceType), SourceId: t.SourceID, CreatedAt: stamp(t.CreatedAt),
			ProofUrl: new(s.url("/v1/credits/" + t.ID + "/proof")),
		}
		out.Transactions[i].Refunds = t.Refunds
		if t.DiscountPct > 0 {
			out.Transactions[i].DiscountPct = &t.DiscountPct
		}
	}
	return out
}

// renderHolds lists the open holds, newest first. It leaves out holds of 0 seconds: they
// only count active work.
func renderHolds(holds credit.Holds) []api.Hold {
	open := slices.SortedFunc(holds.All(), func(a, b credit.OpenHold) int { return strings.Compare(b.ID, a.ID) })
	open = slices.DeleteFunc(open, func(h credit.OpenHold) bool { return h.Seconds == 0 })
	out := make([]api.Hold, len(open))
	for i, h := range open {
		out[i] = api.Hold{
			Id: h.ID, Seconds: h.Seconds, SourceType: string(h.SourceType), SourceId: h.SourceID, DiscountPct: h.DiscountPct,
			CreatedAt: stamp(h.CreatedAt), ExpiresAt: stamp(h.ExpiresAt),
		}
	}
	return out
}
