package queue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query"
)

func TestSurveyed(t *testing.T) {
	t.Parallel()
	action := func(subject, value string) query.Query {
		return query.Query{
			PromptIntent: query.Action, Subjects: []query.Subject{{ID: "s1", Term: subject}},
			Conditions: []query.Condition{{Subject: "s1", Kind: query.KindAction, Value: value}},
		}
	}
	dog := query.Query{PromptIntent: query.Presence, Subjects: []query.Subject{{ID: "s1", Term: "dog"}}}
	sits, falls := action("person", "sitting"), action("person", "falling")
	require.True(t, answer.Assessable(dog) && answer.NeedsPose(sits) && answer.NeedsDenseSamples(falls))
	covers := func(s Surveyed) [3]bool { return [3]bool{s.Covers(dog), s.Covers(sits), s.Covers(falls)} }
	require.Equal(t, [3]bool{false, false, false}, covers(Surveyed{}))
	require.Equal(t, [3]bool{false, false, false}, covers(Surveyed{}.With(query.Query{PromptIntent: query.OpenEnded})), "refused without a scan")
	require.Equal(t, [3]bool{true, false, false}, covers(Surveyed{}.With(dog)))
	require.Equal(t, [3]bool{true, true, false}, covers(Surveyed{}.With(dog).With(sits)))
	require.True(t, Surveyed{}.With(sits).With(falls).Covers(sits), "keeps what an earlier scan found")
}

func TestLengths(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float64{10, 20, 15, 15}, Lengths([]*float64{new(10.0), new(20.0), nil, new(0.0)}))
	require.Equal(t, []float64{unknownLengthS}, Lengths([]*float64{nil}))
}
