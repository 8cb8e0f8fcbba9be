package command

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/eventstore"
)

// neighbor returns the nth account that shares the lane of acct.
func (b *bench) neighbor(n int) intent {
	for i := 2; ; i++ {
		name := fmt.Sprintf("acct_%d", i)
		if b.p.laneOf(name) != b.p.laneOf(acct) {
			continue
		}
		if n--; n == 0 {
			return intent{accountID: name, meta: eventstore.Meta{AccountID: name}}
		}
	}
}

// nothing is a command without events.
func nothing(*session) error { return nil }

// TestHotAccountFillsOnlyItsShare: an account that fills its lane does not cause the refusal of another one.
// It loses its own newest commands.
func TestHotAccountFillsOnlyItsShare(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := context.Background()
		hot := []*verdict{b.begin(ctx, ofLane(), grantOf(1))}
		for range laneDepth {
			hot = append(hot, b.begin(ctx, ofLane(), grantOf(1)))
		}
		var quiet []*verdict
		for range 100 {
			quiet = append(quiet, b.begin(ctx, b.neighbor(1), nothing))
		}
		more := b.begin(ctx, ofLane(), grantOf(1))
		b.open()
		for _, v := range quiet {
			require.NoError(t, v.err)
		}
		requireFault(t, more.err, fault.CapacityExhausted)
		require.Equal(t, map[string]int{"ok": 1 + laneDepth - 100, string(fault.CapacityExhausted): 100}, tally(errorsOf(hot)))
		for _, v := range hot[:laneDepth-100] {
			require.NoError(t, v.err, "the newest commands are refused")
		}
		require.Equal(t, int64(1+laneDepth-100), b.balance().PostedSeconds)
	})
}

func errorsOf(verdicts []*verdict) []error {
	errs := make([]error, len(verdicts))
	for i, v := range verdicts {
		errs[i] = v.err
	}
	return errs
}

// TestQuietAccountJoinsTheNextGroup: a command of a quiet account is in the group after the current one,
// although a busy account waits with several groups.
func TestQuietAccountJoinsTheNextGroup(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := context.Background()
		var groups []int
		b.shim.beforeAppend = func(_ context.Context, batch eventstore.Batch) error {
			groups = append(groups, len(batch.Writes[0].Events))
			return nil
		}
		for range 1 + 3*groupMax {
			b.begin(ctx, ofLane(), grantOf(1))
		}
		for i := range 10 {
			decidedIn := 0
			v := b.begin(ctx, b.neighbor(i%3+1), func(*session) error {
				decidedIn = len(groups)
				return nil
			})
			defer func() {
				require.NoError(t, v.err)
				require.Equal(t, 1, decidedIn, "it waits for the first group and joins the second")
			}()
		}
		b.open()
		require.Equal(t, []int{1, groupMax - 10, groupMax, groupMax, 10}, groups)
	})
}

// TestAFullLaneTakesTestMode: commands of test mode are neither refused nor displaced. They take no
// places of live commands.
func TestAFullLaneTakesTestMode(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := context.Background()
		tested := ofLane()
		tested.test = true
		waiting := []*verdict{b.begin(ctx, ofLane(), grantOf(1))}
		for range 2 * laneDepth {
			waiting = append(waiting, b.begin(ctx, tested, nothing))
		}
		for range laneDepth {
			waiting = append(waiting, b.begin(ctx, ofLane(), grantOf(1)))
		}
		requireFault(t, b.begin(ctx, ofLane(), grantOf(1)).err, fault.CapacityExhausted)
		waiting = append(waiting, b.begin(ctx, tested, nothing))
		quiet := b.begin(ctx, b.neighbor(1), nothing)
		b.open()
		require.NoError(t, quiet.err)
		require.Equal(t, map[string]int{"ok": 1 + 3*laneDepth, string(fault.CapacityExhausted): 1}, tally(errorsOf(waiting)))
		require.NoError(t, waiting[len(waiting)-1].err)
		require.Equal(t, int64(laneDepth), b.balance().PostedSeconds)
	})
}

// TestManyAccountsFillALane: when every account has one waiting command, the lane refuses the next one.
func TestManyAccountsFillALane(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := context.Background()
		first := b.begin(ctx, ofLane(), grantOf(1))
		var waiting []*verdict
		for i := range laneDepth {
			waiting = append(waiting, b.begin(ctx, b.neighbor(i+1), nothing))
		}
		refused := b.begin(ctx, b.neighbor(laneDepth+1), nothing)
		requireFault(t, refused.err, fault.CapacityExhausted)
		b.open()
		require.NoError(t, first.err)
		require.Equal(t, map[string]int{"ok": laneDepth}, tally(errorsOf(waiting)))
	})
}

// TestRetryAfterIsTheTimeOfTheLine: the refusal of an account names the time in which its waiting commands are
// done. A caller that comes back then is accepted.
func TestRetryAfterIsTheTimeOfTheLine(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := context.Background()
		b.shim.beforeAppend = func(context.Context, eventstore.Batch) error {
			time.Sleep(2 * time.Second) // a slow disk
			return nil
		}
		first := b.begin(ctx, ofLane(), grantOf(1))
		close(b.gate)
		time.Sleep(3 * time.Second)
		for range 1 + laneDepth {
			b.begin(ctx, ofLane(), grantOf(1))
		}
		require.NoError(t, first.err)
		refused := b.begin(ctx, ofLane(), grantOf(1))
		requireFault(t, refused.err, fault.CapacityExhausted)
		after := fault.Of(refused.err).RetryAfterS
		require.Equal(t, 2*(1+laneDepth/groupMax), after)
		time.Sleep(time.Duration(after) * time.Second)
		synctest.Wait()
		require.Zero(t, b.p.laneOf(acct).waiting.Load())
	})
}
