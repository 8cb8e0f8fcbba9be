package command

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// nodes returns services on the same log, each with its own pipeline.
func nodes(t *testing.T, n int, options ...option) []*world {
	t.Helper()
	all := []*world{newWorld(t, options...)}
	for len(all) < n {
		all = append(all, newWorld(t, append(options, withStore(all[0].log))...))
	}
	return all
}

func onPostgres(t *testing.T) eventstore.Store {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return postgres.New(pool, codec.Events())
}

func TestCreditsForHalf(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		creditsForHalf(t, nodes(t, 1))
	})
	t.Run("memory, two nodes", func(t *testing.T) {
		t.Parallel()
		creditsForHalf(t, nodes(t, 2))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		creditsForHalf(t, nodes(t, 1, withStore(onPostgres(t))))
	})
	t.Run("postgres, two nodes", func(t *testing.T) {
		t.Parallel()
		creditsForHalf(t, nodes(t, 2, withStore(onPostgres(t))))
	})
}

// creditsForHalf runs 64 clients on one account with credits for 32 of them.
func creditsForHalf(t *testing.T, nodes []*world) {
	const clients, cost = 64, 10
	w := nodes[0]
	caller := w.account(clients / 2 * cost)
	videoID := w.readyVideo(caller)
	var mu sync.Mutex
	var runs []Run
	errs := together(clients, func(i int) error {
		plan, err := nodes[i%len(nodes)].CreateAnalysis(t.Context(), caller, ask(videoID))
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			runs = append(runs, Run{AccountID: caller.AccountID, AnalysisID: plan.Analysis.ID, VideoID: videoID, Attempt: 1})
		}
		return err
	})
	require.Equal(t, map[string]int{"ok": clients / 2, "insufficient_credits": clients / 2}, tally(errs))
	balance := w.requireLaws().balances[caller.AccountID]
	require.Equal(t, int64(clients/2*cost), balance.PostedSeconds)
	require.Equal(t, int64(0), balance.AvailableSeconds())
	require.Equal(t, clients/2, balance.Holds.Len())

	// Half of them complete, the others are canceled, all at once.
	errs = together(len(runs), func(i int) error {
		n := nodes[i%len(nodes)]
		if i%4 < 2 {
			_, err := n.CancelAnalysis(t.Context(), caller, runs[i].AnalysisID)
			return err
		}
		if _, _, err := n.ClaimAnalysis(t.Context(), runs[i], "w"); err != nil {
			return err
		}
		return n.CompleteAnalysis(t.Context(), runs[i], yes(), 9_400_000, 19, nil)
	})
	require.Equal(t, map[string]int{"ok": clients / 2}, tally(errs))
	balance = w.requireLaws().balances[caller.AccountID]
	require.Equal(t, int64(clients/4*cost), balance.PostedSeconds)
	require.Equal(t, int64(clients/4*cost), balance.AvailableSeconds())
	require.Equal(t, int64(clients/4*cost), balance.UsedSeconds)
	require.NoError(t, w.DeleteVideo(t.Context(), caller, videoID))
}

func TestConcurrencyLimitUnderLoad(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, withLimits(func(l *Limits) { l.MaxConcurrentAnalyses = 10 }))
	caller := all[0].account(10_000)
	videoID := all[0].readyVideo(caller)
	errs := together(40, func(i int) error {
		_, err := all[i%2].CreateAnalysis(t.Context(), caller, ask(videoID))
		return err
	})
	require.Equal(t, map[string]int{"ok": 10, "concurrency_limit_exceeded": 30}, tally(errs))
}

// TestDeleteAgainstCreate: of a deletion and simultaneous new analyses, only one side succeeds.
func TestDeleteAgainstCreate(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]int{"one node": 1, "two nodes": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := nodes(t, count)
			w := all[0]
			caller := w.account(1_000_000)
			for range 25 {
				videoID := w.readyVideo(caller)
				errs := together(8, func(i int) error {
					n := all[i%count]
					if i%4 == 3 {
						return n.DeleteVideo(t.Context(), caller, videoID)
					}
					_, err := n.CreateAnalysis(t.Context(), caller, ask(videoID))
					return err
				})
				deletions, creations := tally([]error{errs[3], errs[7]}), tally(append(errs[0:3:3], errs[4:7]...))
				v := stateOf(w, videos, videoID)
				if deletions["ok"] > 0 {
					require.Equal(t, map[string]int{"ok": 1, "resource_not_found": 1}, deletions)
					require.Equal(t, map[string]int{"resource_not_found": 6}, creations)
					require.Equal(t, video.Removed, v.Status)
				} else {
					require.Equal(t, map[string]int{"resource_conflict": 2}, deletions)
					require.Len(t, v.OpenAnalyses, creations["ok"])
					require.Positive(t, creations["ok"])
				}
				for id := range v.OpenAnalyses {
					_, err := w.CancelAnalysis(t.Context(), caller, id)
					require.NoError(t, err)
				}
			}
			w.requireLaws()
		})
	}
}

// TestEndsOfAnAnalysis: of simultaneous completion, failure and cancellation, exactly one succeeds, and the
// hold ends with it.
func TestEndsOfAnAnalysis(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]int{"one node": 1, "two nodes": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := nodes(t, count)
			w := all[0]
			caller := w.account(1_000_000)
			videoID := w.readyVideo(caller)
			for range 25 {
				r := w.claimed(caller, videoID)
				errs := together(8, func(i int) error {
					n := all[i%count]
					switch i % 4 {
					case 0:
						return n.CompleteAnalysis(context.Background(), r, yes(), 9_400_000, 19, nil)
					case 1:
						return n.FailAnalysis(context.Background(), r, lost)
					case 2:
						_, err := n.CancelAnalysis(context.Background(), caller, r.AnalysisID)
						return err
					default:
						err := n.ReportProgress(context.Background(), r, analysis.Analyzing, 10*i)
						if IsStale(err) {
							return nil
						}
						return err
					}
				})
				ends := tally([]error{errs[0], errs[1], errs[2], errs[4], errs[5], errs[6]})
				require.Equal(t, 1, ends["ok"], "%v", ends)
				require.Equal(t, 5, ends[string(fault.ResourceConflict)]+ends[string(fault.AnalysisNotCancelable)], "%v", ends)
				require.NoError(t, errs[3])
				require.NoError(t, errs[7])
			}
			require.Empty(t, w.requireLaws().holds)
		})
	}
}

// TestClaimIsALock: of many workers of one attempt, exactly one claims the analysis.
func TestClaimIsALock(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2)
	caller := all[0].account(1000)
	r := all[0].queued(caller, all[0].readyVideo(caller))
	errs := together(16, func(i int) error {
		_, _, err := all[i%2].ClaimAnalysis(t.Context(), r, "w")
		return err
	})
	require.Equal(t, map[string]int{"ok": 1, "resource_conflict": 15}, tally(errs))
}
