package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"vqa/domain/analysis"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
)

// drawArgs is one attempt at drawing the artifacts of a completed analysis.
type drawArgs struct {
	command.Afterwork
}

// Kind implements river.JobArgs.
func (drawArgs) Kind() string { return "draw" }

// narrateArgs is one attempt at the narrative of a completed analysis.
type narrateArgs struct {
	command.Afterwork
}

// Kind implements river.JobArgs.
func (narrateArgs) Kind() string { return "narrate" }

func (a drawArgs) attempt() (id string, number int, cause command.Cause) {
	return a.AnalysisID, a.Attempt, a.Cause
}

func (a narrateArgs) attempt() (id string, number int, cause command.Cause) {
	return a.AnalysisID, a.Attempt, a.Cause
}

// Draw enqueues an attempt at drawing. A second call adds nothing.
func (c *Client) Draw(ctx context.Context, w command.Afterwork) error {
	_, err := c.river.Insert(ctx, drawArgs{w}, attempt(queueDrawings))
	return err
}

// Narrate enqueues an attempt at a narrative. A second call adds nothing.
func (c *Client) Narrate(ctx context.Context, w command.Afterwork) error {
	_, err := c.river.Insert(ctx, narrateArgs{w}, attempt(queueNarratives))
	return err
}

// undrawnFor is the time without any drawing node after which promised artifacts are given
// up. River records the nodes that work a queue every 10 minutes.
const undrawnFor = time.Hour

// drawnRecently reports whether some node draws, or did so within undrawnFor.
func (c *Client) drawnRecently(ctx context.Context, now time.Time) (bool, error) {
	if c.options.Analyzer.Renderer != nil {
		return true, nil
	}
	queue, err := c.river.QueueGet(ctx, queueDrawings)
	if errors.Is(err, river.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read which nodes draw: %w", err)
	}
	return now.Sub(queue.UpdatedAt) < undrawnFor, nil
}

// afterwork takes up drawings and narratives whose process was lost.
func (s *Sweeper) afterwork(ctx context.Context, alive func(string) bool) error {
	drawings, err := jobsOf[drawArgs](ctx, s.Client, alive)
	if err != nil {
		return err
	}
	narratives, err := jobsOf[narrateArgs](ctx, s.Client, alive)
	if err != nil {
		return err
	}
	open, err := s.Open.OpenAfterwork(ctx)
	if err != nil {
		return err
	}
	drawn, err := s.Client.drawnRecently(ctx, s.Now())
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.Drawing {
			k := drawings[a.ID]
			// The nodes that draw have stopped since these artifacts were promised.
			if !drawn && s.Now().Sub(*a.CompletedAt) >= undrawnFor {
				k.live, k.lost = nil, maxLost
			}
			err = errors.Join(err, s.takeUp(ctx, a, k, s.Client.Draw, func(w command.Afterwork) error {
				return s.Commands.RecordDrawing(ctx, w, nil)
			}))
		}
		if a.Narrating() {
			err = errors.Join(err, s.takeUp(ctx, a, narratives[a.ID], s.Client.Narrate, func(w command.Afterwork) error {
				return s.Commands.FailNarrative(ctx, w)
			}))
		}
	}
	return err
}

// takeUp enqueues the next attempt at a drawing or a narrative that has no job, or gives it
// up.
func (s *Sweeper) takeUp(
	ctx context.Context, a analysis.State, k jobHistory, enqueue func(context.Context, command.Afterwork) error, giveUp func(command.Afterwork) error,
) error {
	var age time.Duration
	if a.CompletedAt != nil {
		age = s.Now().Sub(*a.CompletedAt)
	}
	if age >= workLife {
		k.live, k.lost = nil, maxLost
	}
	if k.working(0) || k.last == 0 && a.CompletedAt != nil && age < grace {
		return nil
	}
	w := command.Afterwork{AccountID: a.AccountID, AnalysisID: a.ID, Attempt: k.last + 1}
	var err error
	if w.Cause, err = s.cause(ctx, k, fold.Analysis.Stream(a.ID)); err != nil {
		return err
	}
	if k.lost >= maxLost {
		if err := giveUp(w); !command.IsStale(err) {
			return err
		}
		return nil
	}
	if k.resting(a.ID, s.Now()) {
		return nil
	}
	s.Log.Warn("taking up a lost drawing or narrative", "analysis_id", a.ID, "attempt", w.Attempt)
	return enqueue(ctx, w)
}
