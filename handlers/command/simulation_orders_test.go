package command

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// draw returns the next operation of a client, often an earlier one again.
func (s *sim) draw() operation {
	if s.random.IntN(100) < 14 {
		if o, ok := s.again(); ok {
			return o
		}
	}
	caller := s.callers[s.random.IntN(len(s.callers))]
	if s.outage && s.random.IntN(100) < 15 {
		return s.rerunOperation(caller)
	}
	switch p := s.random.IntN(100); {
	case p < 23:
		return s.askOperation(caller)
	case p < 30:
		return s.batchOperation(caller)
	case p < 56:
		return s.workOperation()
	case p < 60:
		return s.afterworkOperation()
	case p < 67:
		return s.cancelOperation(caller)
	case p < 77:
		return s.videoOperation(caller)
	case p < 88:
		return s.moneyOperation(caller.AccountID)
	case p < 92:
		return s.expireOperation()
	case p < 98:
		return s.keyOperation(caller.AccountID)
	default:
		return s.sealOperation()
	}
}

// again returns an earlier operation with a key, sometimes with another body.
func (s *sim) again() (operation, bool) {
	for i := len(s.attempts) - 1; i >= 0 && i > len(s.attempts)-12; i-- {
		a := s.attempts[i]
		if a.key == nil || s.random.IntN(3) == 0 {
			continue
		}
		o := a.operation
		if s.random.IntN(6) == 0 {
			other := *o.key
			other.Hash = sha256.Sum256([]byte("another body"))
			o.key = &other
		}
		return o, true
	}
	return operation{}, false
}

// newKey returns an idempotency key for a third of the requests.
func (s *sim) newKey() *Idempotency {
	if s.random.IntN(3) > 0 {
		return nil
	}
	key := fmt.Sprintf("key%d", len(s.attempts))
	return &Idempotency{Key: key, Hash: sha256.Sum256([]byte(key))}
}

// asCaller runs a request as the API does. A repeated request is answered from its receipt. The first
// one saves its response there.
func (s *sim) asCaller(o operation, caller Caller, do func(context.Context, *Service, Caller) (string, error)) operation {
	o.key, o.scope = s.newKey(), caller.AccountID
	o.run = func(ctx context.Context, svc *Service, request string, key *Idempotency) outcome {
		caller := caller
		caller.RequestID, caller.Idempotency = request, key
		r, err := svc.Replay(ctx, caller)
		if err != nil {
			return outcome{err: err}
		}
		if r != nil {
			return outcome{resource: r.ResourceID, replayed: true, body: string(r.Body)}
		}
		resource, err := do(ctx, svc, caller)
		if err == nil && !o.dry {
			_ = svc.SaveResponse(ctx, caller, 201, []byte(resource)) // without a saved response it is rendered again
		}
		return outcome{resource: resource, err: err}
	}
	return o
}

// pickVideo returns mostly a video of the account, sometimes another account's or a missing one.
func (s *sim) pickVideo(accountID string) string {
	p := s.random.IntN(100)
	if p < 8 {
		accountID = s.callers[s.random.IntN(len(s.callers))].AccountID
	}
	own := s.oracle.videos[accountID]
	if len(own) == 0 || p == 99 {
		return "video_none"
	}
	return own[s.random.IntN(len(own))]
}

// pickRun returns mostly an open analysis, else one of the newest.
func (s *sim) pickRun() (Run, bool) {
	all := s.oracle.analyses
	if len(all) == 0 {
		return Run{}, false
	}
	if open := s.oracle.openHolds(); len(open) > 0 && s.random.IntN(4) > 0 {
		source := open[s.random.IntN(len(open))].source
		return all[slices.IndexFunc(all, func(r Run) bool { return r.AnalysisID == source })], true
	}
	return all[max(0, len(all)-1-s.random.IntN(5))], true
}

func (s *sim) cancelOperation(caller Caller) operation {
	r, _ := s.pickRun()
	o := operation{name: "cancel " + r.AnalysisID, leaves: []string{leavesCanceled}}
	own := func(a analysis.State) bool {
		return a.Exists() && a.AccountID == caller.AccountID && a.Livemode == caller.Livemode
	}
	o.refused = func(m moments, code fault.Code) bool {
		return sometime(m, fold.Analysis, r.AnalysisID, func(a analysis.State) bool {
			return code == fault.ResourceNotFound && !own(a) || code == fault.AnalysisNotCancelable && own(a) && terminal(a)
		})
	}
	return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
		_, err := svc.CancelAnalysis(ctx, caller, r.AnalysisID)
		return "", err
	})
}

// workOperation is a report of a worker. Its attempt may be outdated.
func (s *sim) workOperation() operation {
	r, found := s.pickRun()
	if !found {
		return s.askOperation(s.callers[0])
	}
	now := latest(s.oracle, fold.Analysis, r.AnalysisID)
	r.Attempt = max(1, now.Attempt+[]int{-1, 0, 0, 0, 1}[s.random.IntN(5)])
	o := operation{}
	var report func(context.Context, *Service, Run) error
	staleLoads := func(a analysis.State) bool { return terminal(a) || a.Attempt != r.Attempt }
	p := s.random.IntN(10)
	if now.Status == analysis.Queued && p < 8 {
		p = 0
	}
	switch {
	case p < 2:
		o.name, o.leaves = "claim", []string{"analysis.started", "analysis.reclaimed"}
		staleLoads = func(a analysis.State) bool { return terminal(a) || a.Attempt >= r.Attempt }
		report = func(ctx context.Context, svc *Service, r Run) error {
			_, _, err := svc.ClaimAnalysis(ctx, r, "w")
			return err
		}
	case p < 5:
		stages := []analysis.Status{analysis.Preparing, analysis.Analyzing, analysis.Rendering}
		stage := stages[s.random.IntN(3)]
		percent := s.random.IntN(101)
		o.name, o.leaves = "progress of", []string{"analysis.progressed"}
		o.idle = func(m moments) bool {
			return sometime(m, fold.Analysis, r.AnalysisID, func(a analysis.State) bool {
				return !staleLoads(a) && slices.Index(stages, a.Status) >= slices.Index(stages, stage)
			})
		}
		report = func(ctx context.Context, svc *Service, r Run) error {
			return svc.ReportProgress(ctx, r, stage, percent)
		}
	case p < 9 && !(s.outage && s.random.IntN(2) == 0):
		o.name, o.leaves = "complete", withMeasure(leavesCompleted)
		if now.RerunOf != "" {
			o.leaves = withMeasure(leavesForFree)
		}
		var drawing *analysis.Artifacts
		if s.random.IntN(2) == 0 {
			drawing = &analysis.Artifacts{VideoKey: r.AnalysisID + ".mp4"}
		}
		report = func(ctx context.Context, svc *Service, r Run) error {
			return svc.CompleteAnalysis(ctx, r, yes(), 9_400_000, 19, drawing)
		}
	default:
		o.name, o.leaves = "fail", []string{leavesFailed}
		if s.random.IntN(2) == 0 {
			r.Attempt, staleLoads = 0, terminal
		}
		report = func(ctx context.Context, svc *Service, r Run) error { return svc.FailAnalysis(ctx, r, lost) }
	}
	o.name += fmt.Sprintf(" %s, attempt %d", r.AnalysisID, r.Attempt)
	o.refused = func(m moments, code fault.Code) bool {
		return code == fault.ResourceConflict && sometime(m, fold.Analysis, r.AnalysisID, staleLoads)
	}
	o.run = func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
		r := r
		r.Cause = Cause{RequestID: request}
		return outcome{err: report(ctx, svc, r)}
	}
	return o
}

// afterworkOperation ends the rendering or the narrative of an analysis. It may have ended before or
// never started.
func (s *sim) afterworkOperation() operation {
	r, found := s.pickAfterwork()
	if !found {
		return s.askOperation(s.callers[0])
	}
	o := operation{leaves: []string{"analysis.drawn"}}
	wants := func(a analysis.State) bool { return a.Drawing }
	var record func(context.Context, *Service, Afterwork) error
	switch s.random.IntN(4) {
	case 0:
		o.name, record = "drawn", func(ctx context.Context, svc *Service, w Afterwork) error {
			return svc.RecordDrawing(ctx, w, &analysis.Artifacts{VideoKey: r.AnalysisID + ".mp4"})
		}
	case 1:
		o.name, record = "not drawn", func(ctx context.Context, svc *Service, w Afterwork) error { return svc.RecordDrawing(ctx, w, nil) }
	case 2:
		o.name, o.leaves, wants = "narrated", []string{"analysis.narrated"}, analysis.State.Narrating
		record = func(ctx context.Context, svc *Service, w Afterwork) error {
			return svc.RecordNarrative(ctx, w, []analysis.NarrativeEntry{{Text: "A dog."}})
		}
	default:
		o.name, o.leaves, wants = "not narrated", []string{"analysis.narration_failed"}, analysis.State.Narrating
		record = func(ctx context.Context, svc *Service, w Afterwork) error { return svc.FailNarrative(ctx, w) }
	}
	o.name += " " + r.AnalysisID
	o.refused = func(m moments, code fault.Code) bool {
		return code == fault.ResourceConflict &&
			sometime(m, fold.Analysis, r.AnalysisID, func(a analysis.State) bool { return !wants(a) })
	}
	o.run = func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
		return outcome{err: record(ctx, svc, Afterwork{AccountID: r.AccountID, AnalysisID: r.AnalysisID, Cause: Cause{RequestID: request}})}
	}
	return o
}

// pickAfterwork returns mostly an analysis with missing artifacts or narrative, else one of the newest.
func (s *sim) pickAfterwork() (Run, bool) {
	var open []Run
	for _, r := range s.oracle.analyses {
		if a := latest(s.oracle, fold.Analysis, r.AnalysisID); a.Drawing || a.Narrating() {
			open = append(open, r)
		}
	}
	if len(open) > 0 && s.random.IntN(4) > 0 {
		return open[s.random.IntN(len(open))], true
	}
	return s.pickRun()
}

// expireOperation expires a hold, which may be open, ended or missing.
func (s *sim) expireOperation() operation {
	r, _ := s.pickRun()
	return operation{
		name: "expire " + r.AnalysisID,
		idle: func(m moments) bool {
			return sometime(m, fold.Credit, r.AccountID, func(b credit.State) bool {
				h, open := b.Holds.Get(r.AnalysisID)
				return !open || m.began.Before(h.ExpiresAt)
			})
		},
		run: func(ctx context.Context, svc *Service, _ string, _ *Idempotency) outcome {
			return outcome{err: svc.ExpireHold(ctx, r.AccountID, r.AnalysisID)}
		},
	}
}

// sealOperation seals one leaf more of the transparency log.
func (s *sim) sealOperation() operation {
	return operation{
		name: "seal", idle: func(moments) bool { return true },
		run: func(ctx context.Context, svc *Service, _ string, _ *Idempotency) outcome {
			log, err := svc.LedgerLog(ctx)
			if err == nil {
				_, err = svc.SealLog(ctx, credit.LogSealed{Log: 1, Size: log.Last.Size + 1})
			}
			if fault.Has(err, fault.ResourceConflict) { // another sealer was first
				err = &eventstore.ConflictError{Actual: -1}
			}
			return outcome{err: err}
		},
	}
}
