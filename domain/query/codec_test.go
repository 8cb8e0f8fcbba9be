package query_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/query"
)

var someConditions = []query.Condition{
	{Kind: query.KindAttribute, Value: "red"}, {Kind: query.KindAttribute, Value: "wearing blue shirt", Negated: true},
	{Kind: query.KindLocation, Value: "left"}, {Kind: query.KindLocation, Value: "next to red bus"},
	{Kind: query.KindAction, Value: "riding bicycle"}, {Kind: query.KindState, Value: "open"},
}

func drawThing(t *rapid.T) query.Thing {
	return query.Thing{
		Term:        rapid.SampledFrom([]string{"dog", "person", "traffic light"}).Draw(t, "term"),
		Presupposed: rapid.Bool().Draw(t, "presupposed"),
		Conditions:  rapid.SliceOfN(rapid.SampledFrom(someConditions), 0, 2).Draw(t, "conditions"),
	}
}

func drawStatement(t *rapid.T, depth int) query.Statement {
	n := 7
	if depth == 0 {
		n = 2
	}
	part := func() query.Statement { return drawStatement(t, depth-1) }
	parts := func() []query.Statement {
		return []query.Statement{part(), part()}
	}
	switch rapid.IntRange(0, n).Draw(t, "statement") {
	case 0:
		return query.Is{Thing: drawThing(t)}
	case 1:
		op := rapid.SampledFrom([]query.Comparison{query.Equal, query.AtLeast, query.AtMost, query.MoreThan, query.FewerThan}).Draw(t, "op")
		return query.Number{Quantity: query.Quantity{Op: op, Value: rapid.IntRange(1, 9).Draw(t, "n")}, Thing: drawThing(t)}
	case 2:
		which := rapid.SampledFrom([]query.Universal{query.AllOf, query.MostOf, query.OnlyOf}).Draw(t, "which")
		return query.Share{Which: which, Thing: drawThing(t), Conditions: []query.Condition{someConditions[4]}}
	case 3:
		return query.And{Of: parts()}
	case 4:
		return query.Or{Of: parts()}
	case 5:
		return query.Not{Of: part()}
	case 6:
		sequence := rapid.SampledFrom([]query.Sequence{query.Before, query.After, query.While}).Draw(t, "sequence")
		return query.Order{Sequence: sequence, First: part(), Other: part()}
	default:
		return query.More{Thing: drawThing(t), Than: drawThing(t)}
	}
}

// TestCodecRoundTrip writes questions in wire form and reads them again.
func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := query.Question{
			Ask: rapid.SampledFrom([]query.Ask{
				query.AskWhether, query.AskCount, query.AskWhen, query.AskTimes, query.AskFirst, query.AskLast, query.AskDuration,
			}).Draw(t, "ask"),
			Body:   drawStatement(t, 2),
			Always: rapid.Bool().Draw(t, "always"),
			Within: rapid.SampledFrom([][]string{nil, {"first 10 s"}, {"beginning", "before 3 s"}}).Draw(t, "within"),
		}
		if _, number := want.Body.(query.Number); number && want.Ask == query.AskCount {
			t.Skip("asks for a number that it names")
		}
		q, err := query.Encode(want)
		require.NoError(t, err)
		raw, err := json.Marshal(q)
		require.NoError(t, err)
		again, err := query.Decode(raw)
		require.NoError(t, err, "%s", raw)
		require.Empty(t, cmp.Diff(q, again, cmpopts.EquateEmpty()))
		got, ok := again.Question()
		require.True(t, ok)
		require.Empty(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "%s", raw)
	})
}

// TestFlatFormsStayFlat has questions that need no groups.
func TestFlatFormsStayFlat(t *testing.T) {
	t.Parallel()
	dog, cat := query.Thing{Term: "dog"}, query.Thing{Term: "cat"}
	for name, s := range map[query.Intent]query.Statement{
		query.Presence: query.Is{Thing: dog}, query.Absence: query.Not{Of: query.Is{Thing: dog}},
		query.CountThreshold: query.Number{Quantity: query.Quantity{Op: query.AtLeast, Value: 2}, Thing: dog},
		query.Compound:       query.And{Of: []query.Statement{query.Is{Thing: dog}, query.Not{Of: query.Is{Thing: cat}}}},
	} {
		q, err := query.Encode(query.Question{Ask: query.AskWhether, Body: s})
		require.NoError(t, err)
		require.Equal(t, name, q.PromptIntent)
		require.Empty(t, q.Groups)
	}
}

func TestSplitNamesTheObject(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][3]string{
		"next to red bus": {"next to", "red", "bus"}, "on dining table": {"on", "", "dining table"}, "left": {"left", "", ""},
	} {
		head, object := query.Condition{Kind: query.KindLocation, Value: value}.Split()
		got := [3]string{head}
		if object != nil {
			got[2] = object.Term
			for _, c := range object.Conditions {
				got[1] = c.Value
			}
		}
		require.Equal(t, want, got)
	}
	head, object := query.Condition{Kind: query.KindAction, Value: "getting out of small car"}.Split()
	require.Equal(t, "getting out of", head)
	require.Equal(t, "car", object.Term)
	head, object = query.Condition{Kind: query.KindAction, Value: "raising hand"}.Split()
	require.Equal(t, "raising hand", head)
	require.Nil(t, object)
}
