package mcp

import (
	"encoding/json"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
)

const (
	// maxClips is the most intervals of a result, and maxSentences the most of a narrative. A model reads
	// every one of them; the links have the rest.
	maxClips     = 10
	maxSentences = 20
)

// video is the short form of a video.
type video struct {
	ID             string     `json:"id"`
	Livemode       bool       `json:"livemode"`
	Status         string     `json:"status"`
	DurationS      *float64   `json:"duration_s,omitempty"`
	Width          *int       `json:"width,omitempty"`
	Height         *int       `json:"height,omitempty"`
	FPS            *float64   `json:"fps,omitempty"`
	SizeBytes      *int64     `json:"size_bytes,omitempty"`
	Filename       *string    `json:"filename,omitempty"`
	Error          *failure   `json:"error,omitempty"`
	MediaURL       string     `json:"media_url,omitempty"`
	MediaExpiresAt *time.Time `json:"media_expires_at,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	Next           string     `json:"next"`
}

// failure is why a resource failed.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

func failureOf(e *api.ResourceError) *failure {
	if e == nil {
		return nil
	}
	return &failure{Code: e.Code, Message: e.Message, Next: next(fault.Code(e.Code))}
}

func videoOf(v api.Video) video {
	out := video{
		ID: v.Id, Livemode: v.Livemode, Status: string(v.Status), DurationS: v.DurationS, Width: v.Width, Height: v.Height, FPS: v.Fps,
		SizeBytes: v.SizeBytes, Filename: v.Filename, Error: failureOf(v.Error), CreatedAt: v.CreatedAt,
	}
	if v.Media != nil {
		out.MediaURL, out.MediaExpiresAt = v.Media.Url, &v.Media.ExpiresAt
	}
	switch out.Status {
	case "ready":
		out.Next = "Call create_analysis with this id as video_id."
	case "failed":
		out.Next = out.Error.step()
	case "awaiting_upload":
		out.Next = "Ask the person to finish the upload."
	default:
		out.Next = "Call get_video again in a few seconds, until status is ready or failed."
	}
	return out
}

// step returns what to do about a failure.
func (f *failure) step() string {
	if f == nil {
		return next("")
	}
	return f.Next
}

// clip is an interval of a video.
type clip struct {
	StartS     float64 `json:"start_s"`
	EndS       float64 `json:"end_s"`
	Confidence float64 `json:"confidence"`
}

// clipsOf returns the first intervals.
func clipsOf(all []api.Clip) []clip {
	var out []clip
	for _, c := range all[:min(len(all), maxClips)] {
		out = append(out, clip{c.StartS, c.EndS, c.Confidence})
	}
	return out
}

// analysis is the short form of an analysis.
type analysis struct {
	ID                  string       `json:"id"`
	Livemode            bool         `json:"livemode"`
	Status              string       `json:"status"`
	VideoID             string       `json:"video_id"`
	Prompt              *string      `json:"prompt,omitempty"`
	Model               string       `json:"model,omitempty"`
	Answer              string       `json:"answer,omitempty"`
	Confidence          *float64     `json:"confidence,omitempty"`
	DetectedCount       *int         `json:"detected_count,omitempty"`
	IndeterminateReason string       `json:"indeterminate_reason,omitempty"`
	Note                string       `json:"note,omitempty"`
	NotAssessed         []string     `json:"not_assessed,omitempty"`
	Suggestions         *[]string    `json:"suggestions,omitempty"`
	Clips               []clip       `json:"clips,omitempty"`
	ClipsTotal          int          `json:"clips_total,omitempty"`
	CountEvidence       []clip       `json:"count_evidence,omitempty"`
	NarrativeStatus     string       `json:"narrative_status,omitempty"`
	Narrative           []sentence   `json:"narrative,omitempty"`
	NarrativeTotal      int          `json:"narrative_total,omitempty"`
	Percent             *float64     `json:"percent,omitempty"`
	QueuePosition       *int         `json:"queue_position,omitempty"`
	EstimatedStartS     *int         `json:"estimated_start_s,omitempty"`
	BilledSeconds       *int64       `json:"billed_seconds,omitempty"`
	BilledUSD           *json.Number `json:"billed_usd,omitempty"`
	BalanceAfterSeconds *int64       `json:"balance_after_seconds,omitempty"`
	Error               *failure     `json:"error,omitempty"`
	RerunEligible       *bool        `json:"rerun_eligible,omitempty"`
	AnnotatedVideoURL   string       `json:"annotated_video_url,omitempty"`
	ContactSheetURL     string       `json:"contact_sheet_url,omitempty"`
	LinksExpireAt       *time.Time   `json:"links_expire_at,omitempty"`
	CreatedAt           time.Time    `json:"created_at"`
	CompletedAt         *time.Time   `json:"completed_at,omitempty"`
}

// sentence is a sentence of a narrative.
type sentence struct {
	AtS  float64 `json:"t_s"`
	Text string  `json:"text"`
}

// terminal reports whether a status is final. A status that a later release adds is not.
func terminal(s api.AnalysisStatus) bool {
	return s == api.AnalysisStatusCompleted || s == api.AnalysisStatusFailed || s == api.AnalysisStatusCanceled
}

// analysisOf returns an analysis without links, as in lists.
func (s *endpoint) analysisOf(a api.Analysis) analysis {
	out := analysis{
		ID: a.Id, Livemode: a.Livemode, Status: string(a.Status), VideoID: a.VideoId, Prompt: a.Prompt, Model: a.Model,
		QueuePosition: a.QueuePosition, EstimatedStartS: a.EstimatedStartS, Error: failureOf(a.Error), RerunEligible: a.RerunEligible,
		CreatedAt: a.CreatedAt, CompletedAt: a.CompletedAt, Suggestions: a.Suggestions,
	}
	if a.Progress != nil {
		out.Percent = &a.Progress.Percent
	}
	for _, c := range a.Query.UnassessableComponents {
		out.NotAssessed = append(out.NotAssessed, c.Text)
	}
	if r := a.Result; r != nil {
		out.Answer, out.Confidence, out.DetectedCount = string(r.Answer), &r.Confidence, r.DetectedCount
		out.Clips, out.ClipsTotal, out.CountEvidence = clipsOf(r.Clips), len(r.Clips), clipsOf(r.CountEvidence)
		if r.IndeterminateReason != nil {
			out.IndeterminateReason = string(*r.IndeterminateReason)
		}
		if r.UnsupportedAction != nil {
			out.Note = r.UnsupportedAction.Reason
		}
	}
	if n := a.Narrative; n != nil {
		out.NarrativeStatus, out.NarrativeTotal = string(n.Status), len(n.Entries)
		for _, e := range n.Entries[:min(len(n.Entries), maxSentences)] {
			out.Narrative = append(out.Narrative, sentence{e.TS, e.Text})
		}
	}
	if u := a.Usage; u != nil {
		out.BilledSeconds, out.BilledUSD, out.BalanceAfterSeconds = &u.BilledSeconds, s.usd(&u.BilledSeconds), u.CreditBalanceAfter
	}
	return out
}

// withLinks adds the signed links of the artifacts.
func (s *endpoint) withLinks(a api.Analysis) analysis {
	out := s.analysisOf(a)
	if f := a.Artifacts; f != nil {
		out.AnnotatedVideoURL, out.LinksExpireAt = f.AnnotatedVideoUrl, &f.ExpiresAt
		if f.ContactSheetUrl != nil {
			out.ContactSheetURL = *f.ContactSheetUrl
		}
	}
	return out
}

// usd returns the price of credits in US dollars, or nil if their number is unknown.
func (s *endpoint) usd(seconds *int64) *json.Number {
	if seconds == nil {
		return nil
	}
	return new(json.Number(s.price(*seconds)))
}

// pricing is the price of a batch.
type pricing struct {
	FullPricePrompts  int          `json:"full_price_prompts"`
	DiscountedPrompts int          `json:"discounted_prompts"`
	DiscountPct       int          `json:"discount_pct"`
	EstimatedSeconds  *int64       `json:"estimated_seconds,omitempty"`
	EstimatedUSD      *json.Number `json:"estimated_usd,omitempty"`
}

func pricingOf(p api.BatchPricing) pricing {
	return pricing{p.FullPricePrompts, p.DiscountedPrompts, p.DiscountPct, p.EstimatedTotalSeconds, p.EstimatedTotalCostUsd}
}
