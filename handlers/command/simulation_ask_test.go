package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore/fold"
)

// asking describes a request for analyses of a video. Its methods say under which states of the
// log the request may be refused or may leave no events.
type asking struct {
	*sim
	caller  Caller
	videoID string
	// discounts has the discounts of the analyses that need an engine and credits.
	discounts []int
}

// cost returns the seconds that all analyses reserve together.
func (a asking) cost(v video.State) int64 {
	var sum int64
	for _, pct := range a.discounts {
		held, _ := price(v, pct)
		sum += held
	}
	return sum
}

// met reports whether the conditions on the video and on the balance each held at some moment.
func (a asking) met(m moments, is func(video.State) bool, balance func(int64, credit.State) bool) bool {
	return sometime(m, fold.Video, a.videoID, func(v video.State) bool {
		return is(v) && sometime(m, fold.Credit, a.caller.AccountID, func(b credit.State) bool { return balance(a.cost(v), b) })
	})
}

func (a asking) own(v video.State) bool {
	return owns(a.caller, v) && (a.caller.Livemode || v.Fixture)
}

func (a asking) usable(v video.State) bool { return a.own(v) && ready(v) }

func (a asking) full(b credit.State) bool {
	return b.OpenHolds(credit.SourceAnalysis)+len(a.discounts) > a.maxActive
}

func (a asking) refused(m moments, code fault.Code) bool {
	any := func(int64, credit.State) bool { return true }
	billed := len(a.discounts) > 0
	switch code {
	case fault.ResourceNotFound, fault.TestKeyFixtureOnly:
		return (code == fault.ResourceNotFound) == a.caller.Livemode && a.met(m, func(v video.State) bool { return !a.own(v) }, any)
	case fault.ResourceConflict:
		return a.met(m, func(v video.State) bool { return a.own(v) && !ready(v) }, any)
	case fault.ConcurrencyLimitExceeded:
		return billed && a.met(m, a.usable, func(_ int64, b credit.State) bool { return a.full(b) })
	case fault.InsufficientCredits, fault.GrantExhausted:
		return billed && (code == fault.GrantExhausted) == (a.caller.Tier == account.FreeGrant) &&
			a.met(m, a.usable, func(cost int64, b credit.State) bool { return b.AvailableSeconds() < cost })
	}
	return false
}

// accepted reports whether the request was allowed at some moment.
func (a asking) accepted(m moments) bool {
	return a.met(m, a.usable, func(cost int64, b credit.State) bool {
		return len(a.discounts) == 0 || b.AvailableSeconds() >= cost && !a.full(b)
	})
}

// leaves returns the events of so many analyses, of which work need an engine.
func (a asking) leaves(questions, work int) string {
	var types []string
	for what, n := range map[string]int{
		"analysis.created": questions, "analysis.completed": questions - work, "credit.held": work, "video.analysis_opened": work,
	} {
		types = append(types, slices.Repeat([]string{what}, n)...)
	}
	slices.Sort(types)
	return strings.Join(types, " ")
}

// drawPrompt returns a prompt, mostly one that can be answered.
func (s *sim) drawPrompt() (prompt string, assessable bool) {
	if s.random.IntN(10) == 0 {
		return "What does this mean?", false
	}
	return "Is there a dog?", true
}

func (s *sim) askOperation(caller Caller) operation {
	c := CreateAnalysis{VideoID: s.pickVideo(caller.AccountID), ValidateOnly: s.random.IntN(7) == 0, Narrative: s.random.IntN(2) == 0}
	prompt, assessable := s.drawPrompt()
	c.Prompt = &prompt
	a := asking{sim: s, caller: caller, videoID: c.VideoID}
	if caller.Livemode && assessable {
		a.discounts = []int{0}
	}
	o := a.operation("ask about "+c.VideoID, 1, c.ValidateOnly)
	return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
		plan, err := svc.CreateAnalysis(ctx, caller, c)
		return plan.Analysis.ID, err
	})
}

func (s *sim) batchOperation(caller Caller) operation {
	c := CreateBatch{VideoID: s.pickVideo(caller.AccountID), DiscountPct: 50, ValidateOnly: s.random.IntN(7) == 0}
	a := asking{sim: s, caller: caller, videoID: c.VideoID}
	for i := range 2 + s.random.IntN(2) {
		prompt, assessable := s.drawPrompt()
		c.Prompts = append(c.Prompts, prompt)
		if caller.Livemode && assessable {
			a.discounts = append(a.discounts, []int{0, 50}[min(i, 1)])
		}
	}
	o := a.operation(fmt.Sprintf("ask %d questions about %s", len(c.Prompts), c.VideoID), len(c.Prompts), c.ValidateOnly)
	return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
		batch, err := svc.CreateBatch(ctx, caller, c)
		return batch.ID, err
	})
}

// operation returns the operation for a request of so many analyses.
func (a asking) operation(name string, questions int, validateOnly bool) operation {
	if validateOnly {
		a.discounts = nil // a preview reserves nothing, so its price is never refused
		return operation{name: name + ", validate only", dry: true, refused: a.refused, idle: a.accepted}
	}
	return operation{name: name, leaves: []string{a.leaves(questions, len(a.discounts))}, refused: a.refused}
}

// leavesRepeated lists the events of a free re-run.
const leavesRepeated = "analysis.created analysis.rerun credit.held video.analysis_opened"

// pickFailedInIncident returns an analysis that failed in an incident, mostly one without a re-run.
func (s *sim) pickFailedInIncident() (Run, bool) {
	var failed []Run
	for _, r := range s.oracle.analyses {
		if a := latest(s.oracle, fold.Analysis, r.AnalysisID); a.RerunEligible() && (a.RerunID == "" || s.random.IntN(4) == 0) {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 {
		return Run{}, false
	}
	return failed[s.random.IntN(len(failed))], true
}

// rerunOperation requests the free re-run of an analysis that may not be eligible.
func (s *sim) rerunOperation(caller Caller) operation {
	r, _ := s.pickRun()
	if failed, found := s.pickFailedInIncident(); found && s.random.IntN(4) > 0 {
		r = failed
		owner := slices.IndexFunc(s.callers, func(c Caller) bool { return c.AccountID == r.AccountID })
		caller = s.callers[owner]
	}
	o := operation{name: "run again " + r.AnalysisID, leaves: []string{leavesRepeated}}
	own := func(a analysis.State) bool {
		return a.Exists() && a.AccountID == caller.AccountID && a.Livemode == caller.Livemode
	}
	o.refused = func(m moments, code fault.Code) bool {
		switch code {
		case fault.ResourceNotFound:
			return sometime(m, fold.Analysis, r.AnalysisID, func(a analysis.State) bool { return !own(a) })
		case fault.RerunNotEligible:
			return sometime(m, fold.Analysis, r.AnalysisID, func(a analysis.State) bool {
				return own(a) && (!a.RerunEligible() || a.RerunID != "")
			})
		case fault.ResourceConflict:
			return sometime(m, fold.Video, r.VideoID, func(v video.State) bool { return !owns(caller, v) })
		case fault.ConcurrencyLimitExceeded:
			return sometime(m, fold.Credit, caller.AccountID, asking{sim: s, discounts: []int{100}}.full)
		}
		return false
	}
	return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
		a, err := svc.RerunAnalysis(ctx, caller, r.AnalysisID)
		return a.ID, err
	})
}
