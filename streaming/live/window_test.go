package live_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/answer/predicate"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/streaming/live"
)

// TestTheWindowIsLongEnough shows each kind of question a stream whose latest seconds answer it, and nothing
// before them.
func TestTheWindowIsLongEnough(t *testing.T) {
	t.Parallel()
	of := func(values ...string) query.Query {
		is := query.Is{Thing: query.Thing{Term: "dog"}}
		for _, v := range values {
			is.Thing.Conditions = append(is.Thing.Conditions, query.Condition{Kind: query.KindAction, Value: v})
		}
		q, err := query.Encode(query.Question{Ask: query.AskWhether, Body: is})
		require.NoError(t, err)
		return q
	}
	plain := live.WindowS(of())
	require.InDelta(t, 1.5, plain, 1e-9)
	for _, row := range predicate.Rows {
		if row.Kind == query.KindAction && !row.Object && row.Who == predicate.Anything {
			form, _, _ := strings.Cut(row.Form, " [")
			require.InDelta(t, plain+row.Needs.Seconds, live.WindowS(of(form)), 1e-9, form)
			require.Positive(t, row.Needs.Seconds, "a single frame does not show %q", form)
		}
	}
	order := query.Order{Sequence: query.Before, First: query.Is{Thing: query.Thing{Term: "dog"}}, Other: query.Is{Thing: query.Thing{Term: "car"}}}
	q, err := query.Encode(query.Question{Ask: query.AskWhether, Body: order})
	require.NoError(t, err)
	require.Greater(t, live.WindowS(q), 10.)

	// A dog comes in from the left and goes out to the right, 5 samples a second.
	var all []evidence.Frame
	for i := range 60 {
		f := evidence.Frame{At: float64(i) / 5}
		if x := -.4 + .1*float64(i-15); x > -.15 && x < 1 {
			f.Detections = []evidence.Detection{{Score: .8, Box: evidence.Box{X1: max(0, x), Y1: .4, X2: min(x+.2, 1), Y2: .8}}}
		}
		all = append(all, f)
	}
	for _, value := range []string{"moving", "entering from left", "leaving toward right"} {
		q, yes := of(value), 0
		for i := range all {
			if answer.Decide(q, live.WindowOf(live.WindowS(q), all[:i+1]...), answer.CPU()).Answer == answer.Yes {
				yes++
			}
		}
		require.GreaterOrEqual(t, yes, 5, "%s is seen for a second at least", value)
	}
}
