package mcp

import (
	"context"
	"encoding/json"
	"time"

	"vqa/handlers/httpapi/api"
)

func createVideo(ctx context.Context, c *call) (any, error) { return getVideo(ctx, c) }

func getVideo(ctx context.Context, c *call) (any, error) {
	var v api.Video
	if err := c.operate(ctx, &v, nil); err != nil {
		return nil, err
	}
	return forms{v, videoOf(v)}, nil
}

// page is the result of a tool that lists resources.
type page struct {
	HasMore           bool   `json:"has_more"`
	NextStartingAfter string `json:"next_starting_after,omitempty"`
}

// videos is the result of list_videos.
type videos[V any] struct {
	Videos []V `json:"videos"`
	page
}

func listVideos(ctx context.Context, c *call) (any, error) {
	var list api.VideoList
	if err := c.operate(ctx, &list, nil); err != nil {
		return nil, err
	}
	p, short := page{HasMore: list.HasMore}, make([]video, len(list.Data))
	for i, v := range list.Data {
		short[i] = videoOf(v)
		if list.HasMore {
			p.NextStartingAfter = v.Id
		}
	}
	return forms{videos[api.Video]{list.Data, p}, videos[video]{short, p}}, nil
}

// created is the result of create_analysis.
type created[A any] struct {
	Analysis A      `json:"analysis"`
	Cost     cost   `json:"cost"`
	Next     string `json:"next"`
}

// cost is the price of an analysis.
type cost struct {
	HeldSeconds *int64       `json:"held_seconds,omitempty"`
	HeldUSD     *json.Number `json:"held_usd,omitempty"`
	Note        string       `json:"note"`
}

// analysis carries out the operation of a tool that returns an analysis.
func (c *call) analysis(ctx context.Context) (a api.Analysis, err error) {
	err = c.operate(ctx, &a, nil)
	c.hideBalance(&a)
	return a, err
}

func createAnalysis(ctx context.Context, c *call) (any, error) {
	a, err := c.analysis(ctx)
	if err != nil {
		return nil, err
	}
	price, next := c.cost(ctx, a), followUp(a)
	return forms{created[api.Analysis]{a, price, next}, created[analysis]{c.withLinks(a), price, next}}, nil
}

// followUp returns what to do after the creation of an analysis.
func followUp(a api.Analysis) string {
	if terminal(a.Status) {
		return "The analysis has ended. No further call is needed."
	}
	return "Call wait_for_analysis with the id of this analysis."
}

// cost returns what an analysis costs. The analysis exists, so a failed read leaves out the amount.
func (c *call) cost(ctx context.Context, a api.Analysis) cost {
	switch {
	case !a.Livemode:
		return cost{HeldSeconds: new(int64), HeldUSD: c.usd(new(int64)), Note: "Test mode is free."}
	case terminal(a.Status):
		return cost{Note: "billed_seconds of the analysis is the final cost."}
	}
	note := "Reserved credits: the most that this analysis costs. Failed and canceled analyses are free."
	var credits api.Credits
	if err := c.get(ctx, "/v1/credits?limit=1", &credits); err != nil {
		c.Log.DebugContext(ctx, "cannot read the cost of an analysis", "analysis_id", a.Id, "error", err.Error())
		return cost{Note: note + " This key cannot read the amount now."}
	}
	for _, h := range credits.Holds {
		if h.SourceId == a.Id {
			return cost{HeldSeconds: &h.Seconds, HeldUSD: c.usd(&h.Seconds), Note: note}
		}
	}
	return cost{Note: "No credits are reserved any more. get_analysis shows billed_seconds."}
}

// checked is the result of validate_analysis.
type checked struct {
	Assessable       bool              `json:"assessable"`
	Note             *string           `json:"note,omitempty"`
	QuestionType     string            `json:"question_type"`
	SearchTerms      []string          `json:"search_terms,omitempty"`
	NotAssessed      []string          `json:"not_assessed,omitempty"`
	Suggestions      *[]string         `json:"suggestions,omitempty"`
	VideoDurationS   *float64          `json:"video_duration_s,omitempty"`
	EstimatedSeconds *int64            `json:"estimated_seconds,omitempty"`
	EstimatedUSD     *json.Number      `json:"estimated_usd,omitempty"`
	Query            api.CompiledQuery `json:"query"`
	Next             string            `json:"next"`
}

func validateAnalysis(ctx context.Context, c *call) (any, error) {
	var p api.AnalysisPreview
	if err := c.operate(ctx, &p, map[string]any{"validate_only": true}); err != nil {
		return nil, err
	}
	out := checked{
		Assessable: p.Assessable, Note: p.Note, QuestionType: string(p.Query.PromptIntent), SearchTerms: p.Query.SearchTerms,
		VideoDurationS: p.VideoDurationS, EstimatedSeconds: p.EstimatedSeconds, EstimatedUSD: p.EstimatedCostUsd, Query: p.Query, Suggestions: p.Suggestions,
		Next: "Call create_analysis with the same arguments.",
	}
	for _, u := range p.Query.UnassessableComponents {
		out.NotAssessed = append(out.NotAssessed, u.Text)
	}
	if !p.Assessable {
		out.Next = "Rephrase the question by the note, or use one of the suggestions, and call validate_analysis again."
	}
	return out, nil
}

// batch is the result of create_analysis_batch.
type batch[A any] struct {
	BatchID  string  `json:"batch_id"`
	Analyses []A     `json:"analyses"`
	Pricing  pricing `json:"pricing"`
	Next     string  `json:"next"`
}

func createBatch(ctx context.Context, c *call) (any, error) {
	var b api.AnalysisBatch
	if err := c.operate(ctx, &b, nil); err != nil {
		return nil, err
	}
	short, price, next := c.analysesOf(b.Analyses), pricingOf(b.Pricing), "Call wait_for_analysis for each analysis."
	return forms{batch[api.Analysis]{b.Id, b.Analyses, price, next}, batch[analysis]{b.Id, short, price, next}}, nil
}

// analysesOf returns the short forms of analyses, and hides the balance in all.
func (c *call) analysesOf(all []api.Analysis) []analysis {
	out := make([]analysis, len(all))
	for i := range all {
		c.hideBalance(&all[i])
		out[i] = c.analysisOf(all[i])
	}
	return out
}

// hideBalance removes the balance of the account from an analysis for an agent that may use the free sample video only.
func (c *call) hideBalance(a *api.Analysis) {
	if c.in.ofAgent && !c.in.livemode && a.Usage != nil {
		a.Usage.CreditBalanceAfter = nil
	}
}

func getAnalysis(ctx context.Context, c *call) (any, error) {
	a, err := c.analysis(ctx)
	if err != nil {
		return nil, err
	}
	short := c.withLinks(a)
	if c.yes("include_image") {
		c.addPicture(ctx, short.ContactSheetURL)
	}
	return forms{a, short}, nil
}

// analyses is the result of list_video_analyses.
type analyses[A any] struct {
	Analyses []A `json:"analyses"`
	page
}

func listAnalyses(ctx context.Context, c *call) (any, error) {
	var list api.AnalysisList
	if err := c.operate(ctx, &list, nil); err != nil {
		return nil, err
	}
	p := page{HasMore: list.HasMore}
	if list.HasMore {
		p.NextStartingAfter = list.Data[len(list.Data)-1].Id
	}
	short := c.analysesOf(list.Data)
	return forms{analyses[api.Analysis]{list.Data, p}, analyses[analysis]{short, p}}, nil
}

// rerun is the result of rerun_analysis.
type rerunResult[A any] struct {
	Analysis A      `json:"analysis"`
	Next     string `json:"next"`
}

func rerun(ctx context.Context, c *call) (any, error) {
	a, err := c.analysis(ctx)
	if err != nil {
		return nil, err
	}
	return forms{rerunResult[api.Analysis]{a, followUp(a)}, rerunResult[analysis]{c.withLinks(a), followUp(a)}}, nil
}

// model is a model of list_models.
type model struct {
	ID             string    `json:"id"`
	Status         string    `json:"status"`
	Default        bool      `json:"default"`
	Counting       bool      `json:"counting"`
	Actions        string    `json:"actions"`
	Narrative      bool      `json:"narrative"`
	OpenVocabulary bool      `json:"open_vocabulary"`
	Vocabulary     *[]string `json:"vocabulary,omitempty"`
}

func listModels(ctx context.Context, c *call) (any, error) {
	var list api.ModelList
	if err := c.operate(ctx, &list, nil); err != nil {
		return nil, err
	}
	models := make([]model, len(list.Data))
	for i, m := range list.Data {
		can := m.Capabilities
		models[i] = model{m.Id, string(m.Status), m.Default, can.Counting, string(can.Actions), can.Narrative, can.OpenVocabulary, can.Vocabulary}
	}
	return map[string]any{"models": models}, nil
}

// meter is a meter of get_usage.
type meter struct {
	Meter    string     `json:"meter"`
	Unit     string     `json:"unit"`
	Balance  *int64     `json:"balance,omitempty"`
	Used     *int64     `json:"used,omitempty"`
	Limit    *int64     `json:"limit,omitempty"`
	ResetsAt *time.Time `json:"resets_at,omitempty"`
}

func getUsage(ctx context.Context, c *call) (any, error) {
	var u api.UsageMeters
	if err := c.operate(ctx, &u, nil); err != nil {
		return nil, err
	}
	meters := make([]meter, len(u.Meters))
	for i, m := range u.Meters {
		meters[i] = meter{m.Meter, m.Unit, m.Balance, m.Used, m.Limit, m.ResetsAt}
	}
	return map[string]any{"meters": meters}, nil
}

// credits is the result of get_credits.
type credits struct {
	AvailableSeconds  int64         `json:"available_seconds"`
	AvailableUSD      *json.Number  `json:"available_usd"`
	BalanceSeconds    int64         `json:"balance_seconds"`
	HeldSeconds       int64         `json:"held_seconds"`
	PricePerSecondUSD json.Number   `json:"price_per_second_usd"`
	Transactions      []transaction `json:"transactions"`
	HasMore           bool          `json:"has_more"`
	NextStartingAfter string        `json:"next_starting_after,omitempty"`
}

// transaction is a change of the balance.
type transaction struct {
	ID                  string    `json:"id"`
	Kind                string    `json:"kind"`
	SecondsDelta        int64     `json:"seconds_delta"`
	BalanceAfterSeconds int64     `json:"balance_after_seconds"`
	SourceID            *string   `json:"source_id,omitempty"`
	CreatedAt           time.Time `json:"created_at"`
}

func getCredits(ctx context.Context, c *call) (any, error) {
	var b api.Credits
	if err := c.operate(ctx, &b, nil); err != nil {
		return nil, err
	}
	out := credits{
		AvailableSeconds: b.AvailableSeconds, AvailableUSD: c.usd(&b.AvailableSeconds), BalanceSeconds: b.BalanceSeconds, HeldSeconds: b.HeldSeconds,
		PricePerSecondUSD: json.Number(c.price(1)), Transactions: make([]transaction, len(b.Transactions)), HasMore: b.HasMore,
	}
	for i, t := range b.Transactions {
		out.Transactions[i] = transaction{t.Id, string(t.Kind), t.SecondsDelta, t.BalanceAfterSeconds, t.SourceId, t.CreatedAt}
	}
	if b.HasMore {
		out.NextStartingAfter = out.Transactions[len(out.Transactions)-1].ID
	}
	return out, nil
}

// fixture is the result of get_test_fixture.
type fixture struct {
	VideoID        string  `json:"video_id,omitempty"`
	VideoURL       string  `json:"video_url"`
	DurationS      float64 `json:"duration_s"`
	Prompt         string  `json:"prompt"`
	ExpectedAnswer string  `json:"expected_answer"`
	Next           string  `json:"next"`
}

func getFixture(ctx context.Context, c *call) (any, error) {
	var f api.TestFixture
	if err := c.operate(ctx, &f, nil); err != nil {
		return nil, err
	}
	out := fixture{
		VideoURL: f.VideoUrl, DurationS: f.DurationS, Prompt: f.Prompt, ExpectedAnswer: string(f.ExpectedAnswer),
	}
	if c.in.livemode {
		out.Next = freeOfCharge(c.in.ofAgent)
		return out, nil
	}
	var videos api.VideoList
	if err := c.get(ctx, "/v1/videos?limit=100", &videos); err != nil {
		c.Log.DebugContext(ctx, "cannot find the fixture of a key", "error", err.Error())
		out.Next = "This key cannot list videos. Ask the person for the id of a video."
		return out, nil
	}
	out.Next = "The test video is not among the newest 100 videos. Ask the person for its id."
	for _, v := range videos.Data {
		if v.Filename != nil && *v.Filename == f.Filename && v.Status == api.VideoStatusReady {
			out.VideoID, out.Next = v.Id, "Call create_analysis with this video_id and prompt. It is free."
		}
	}
	return out, nil
}

// freeOfCharge says how to try the tools without credits. A person cannot give a test key to an agent that has an access
// token, but can allow the agent the free sample video instead of the account's own videos.
func freeOfCharge(ofAgent bool) string {
	if ofAgent {
		return "This permission is for the person's own videos, so analyses cost credits. To try the tools free of charge, " +
			"ask the person to connect this program again and to choose the free sample video on the page that asks for the permission."
	}
	return "This key is live, so analyses cost credits. Ask the person for a test key to try the tools free of charge."
}
