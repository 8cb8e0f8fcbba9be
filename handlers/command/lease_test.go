package command

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/eventstore"
)

// overdue is a lease that is over in a process that has not noticed it yet: its context still lasts.
type overdue struct{}

func (overdue) Incarnation() string      { return "node@1" }
func (overdue) Context() context.Context { return context.Background() }
func (overdue) Check() error             { return eventstore.ErrLeaseOver }

func TestNothingIsRecordedAfterTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	r := w.claimed(caller, w.readyVideo(caller))
	ctx, cancel := eventstore.WithLease(t.Context(), overdue{})
	defer cancel()
	w.requireUnchanged(func() {
		require.ErrorIs(t, w.CompleteAnalysis(ctx, r, yes(), 9_400_000, 19, nil), eventstore.ErrLeaseOver)
		require.ErrorIs(t, w.FailAnalysis(ctx, r, lost), eventstore.ErrLeaseOver)
		require.ErrorIs(t, w.ReportProgress(ctx, r, analysis.Analyzing, 30), eventstore.ErrLeaseOver)
	})
}
