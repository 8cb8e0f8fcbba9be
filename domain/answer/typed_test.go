package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// typed is the answer to a question in typed form for frames, 2 per second.
func typed(t *testing.T, ask query.Ask, body query.Statement, frames ...[]thing) answer.Result {
	t.Helper()
	q, err := query.Encode(query.Question{Ask: ask, Body: body})
	require.NoError(t, err)
	require.True(t, answer.Assessable(q), "%+v", q)
	return answer.Decide(q, sampled(q, frames...), answer.CPU())
}

func a(term string, conditions ...query.Condition) query.Thing {
	return query.Thing{Term: term, Conditions: conditions}
}

var (
	onLeft  = query.Condition{Kind: query.KindLocation, Value: "left"}
	aDog    = thing{term: "dog", score: .9, box: at(.2, .5)}
	another = thing{term: "dog", score: .9, box: at(.8, .5)}
	aCat    = thing{term: "cat", score: .9, box: at(.5, .2)}
)

// during repeats some things for seconds of frames.
func during(seconds int, things ...thing) [][]thing { return still(2*seconds, things...) }

func join(parts ...[][]thing) (all [][]thing) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestAsks(t *testing.T) {
	t.Parallel()
	frames := join(during(2), during(2, aDog), during(2), during(3, aDog), during(2))
	dog := query.Is{Thing: a("dog")}
	times := typed(t, query.AskTimes, dog, frames...)
	require.Equal(t, 2, *times.DetectedCount)
	require.Len(t, times.CountEvidence, 2)
	require.Equal(t, [][2]float64{{1.75, 3.75}, {5.75, 8.75}}, clips(typed(t, query.AskWhen, dog, frames...)))
	require.Equal(t, [][2]float64{{1.75, 3.75}}, clips(typed(t, query.AskFirst, dog, frames...)))
	require.Equal(t, [][2]float64{{5.75, 8.75}}, clips(typed(t, query.AskLast, dog, frames...)))
	require.Len(t, typed(t, query.AskDuration, dog, frames...).Clips, 2)
	require.Equal(t, answer.No, typed(t, query.AskWhen, query.Is{Thing: a("cat")}, frames...).Answer)
	require.Equal(t, 0, *typed(t, query.AskTimes, query.Is{Thing: a("cat")}, frames...).DetectedCount)
}

// TestAlways: something that is there for a part of the video is not there throughout.
func TestAlways(t *testing.T) {
	t.Parallel()
	always := func(frames [][]thing) answer.Answer {
		q, err := query.Encode(query.Question{Ask: query.AskWhether, Body: query.Is{Thing: a("dog")}, Always: true})
		require.NoError(t, err)
		return answer.Decide(q, sampled(q, frames...), answer.CPU()).Answer
	}
	require.Equal(t, answer.Yes, always(during(6, aDog)))
	require.Equal(t, answer.No, always(join(during(4, aDog), during(2))))
	require.Equal(t, answer.No, always(during(6)))
}

// TestComplements: "when is the dog not visible" and "when are there fewer than two" have intervals.
func TestComplements(t *testing.T) {
	t.Parallel()
	frames := join(during(2, aDog, another), during(2, aDog), during(2))
	gone := typed(t, query.AskWhen, query.Not{Of: query.Is{Thing: a("dog")}}, frames...)
	require.Equal(t, [][2]float64{{3.75, 6}}, clips(gone))
	few := query.Number{Quantity: query.Quantity{Op: query.FewerThan, Value: 2}, Thing: a("dog")}
	require.Equal(t, answer.No, typed(t, query.AskWhether, few, frames...).Answer, "the largest number of the video counts")
	q, err := query.Encode(query.Question{Ask: query.AskWhen, Body: few})
	require.NoError(t, err)
	require.Equal(t, answer.Yes, answer.Decide(q, sampled(q, frames...), answer.CPU()).Answer)
}

func TestShares(t *testing.T) {
	t.Parallel()
	share := func(which query.Universal, frames ...[]thing) answer.Answer {
		s := query.Share{Which: which, Thing: a("dog"), Conditions: []query.Condition{onLeft}}
		return typed(t, query.AskWhether, s, frames...).Answer
	}
	third := thing{term: "dog", score: .9, box: at(.15, .8)}
	require.Equal(t, answer.Yes, share(query.AllOf, during(3, aDog, third)...))
	require.Equal(t, answer.No, share(query.AllOf, during(3, aDog, another)...))
	require.Equal(t, answer.No, share(query.AllOf, during(3, aCat)...), "all of none are none")
	require.Equal(t, answer.Yes, share(query.MostOf, during(3, aDog, third, another)...))
	require.Equal(t, answer.No, share(query.MostOf, during(3, aDog, another, thing{term: "dog", score: .9, box: at(.8, .8)})...))
	require.Equal(t, answer.Yes, share(query.OnlyOf, during(3, aDog)...))
	require.Equal(t, answer.No, share(query.OnlyOf, during(3, aDog, another)...))
}

func TestOrder(t *testing.T) {
	t.Parallel()
	frames := join(during(2), during(2, aDog), during(2, aDog, aCat), during(2, aCat))
	order := func(s query.Sequence, first, other string) answer.Result {
		return typed(t, query.AskWhether, query.Order{Sequence: s, First: query.Is{Thing: a(first)}, Other: query.Is{Thing: a(other)}}, frames...)
	}
	require.Equal(t, answer.Yes, order(query.Before, "dog", "cat").Answer)
	require.Equal(t, answer.No, order(query.Before, "cat", "dog").Answer)
	require.Equal(t, answer.Yes, order(query.After, "cat", "dog").Answer)
	require.Equal(t, answer.No, order(query.After, "dog", "cat").Answer)
	require.Equal(t, answer.No, order(query.Before, "dog", "horse").Answer, "there is no horse")
	both := order(query.While, "dog", "cat")
	require.Equal(t, [][2]float64{{3.75, 5.75}}, clips(both))
}

func TestMoreThanAndUnions(t *testing.T) {
	t.Parallel()
	frames := during(3, aDog, another, aCat)
	require.Equal(t, answer.Yes, typed(t, query.AskWhether, query.More{Thing: a("dog"), Than: a("cat")}, frames...).Answer)
	require.Equal(t, answer.No, typed(t, query.AskWhether, query.More{Thing: a("cat"), Than: a("dog")}, frames...).Answer)
	pets := query.Or{Of: []query.Statement{query.Is{Thing: a("dog")}, query.Is{Thing: a("cat")}}}
	require.Equal(t, 3, *typed(t, query.AskCount, pets, frames...).DetectedCount)
}

func TestNestedStatements(t *testing.T) {
	t.Parallel()
	is := func(term string) query.Statement { return query.Is{Thing: a(term)} }
	body := query.And{Of: []query.Statement{query.Or{Of: []query.Statement{is("horse"), is("dog")}}, query.Not{Of: is("cat")}}}
	require.Equal(t, answer.Yes, typed(t, query.AskWhether, body, during(3, aDog)...).Answer)
	require.Equal(t, answer.No, typed(t, query.AskWhether, body, during(3, aDog, aCat)...).Answer)
	require.Equal(t, answer.No, typed(t, query.AskWhether, body, join(during(3, aDog), during(3, aCat))...).Answer, "no cat means in the whole video")
}

// TestUndecidedPartIsNamed: the person is there, but the frames do not show whether he sits.
func TestUndecidedPartIsNamed(t *testing.T) {
	t.Parallel()
	hidden := stander.in(tall)
	hidden.box.Y2 = 1
	for i := range hidden.joints {
		hidden.joints[i].Score = .05
	}
	r := scene("Is a person sitting?", still(8, hidden)...)
	require.Equal(t, answer.Indeterminate, r.Answer)
	require.Equal(t, `A person is visible; whether it is "sitting" cannot be told.`, r.Undecided)
	require.Empty(t, scene("Is a person sitting?", still(8, sitter.in(tall))...).Undecided)
}

// TestNoTrackCrossesACut: what a cut takes away does not leave.
func TestNoTrackCrossesACut(t *testing.T) {
	t.Parallel()
	dog := thing{term: "dog", score: .9, box: evidence.Box{X1: .88, Y1: .4, X2: 1, Y2: .6}}
	going := func(x float64) thing {
		d := dog
		d.box.X1, d.box.X2 = x, x+.12
		return d
	}
	frames := join([][]thing{{going(.4)}, {going(.52)}, {going(.64)}, {going(.76)}, {going(.88)}}, during(3))
	q := english.Compile("Does the dog leave?")
	ev := sampled(q, frames...)
	require.Equal(t, answer.Yes, answer.Decide(q, ev, answer.CPU()).Answer)
	for i := range ev.Frames {
		ev.Frames[i].Shades = shadesAt(0, 0)
		if i >= 5 {
			ev.Frames[i].Shades = make([]byte, evidence.Cells*evidence.Cells)
		}
	}
	require.NotEqual(t, answer.Yes, answer.Decide(q, ev, answer.CPU()).Answer)
}

// TestHolding: a predicate is one file and one row, and needs nothing else to be asked.
func TestHolding(t *testing.T) {
	t.Parallel()
	person := thing{term: "person", score: .9, box: evidence.Box{X1: .4, Y1: .1, X2: .6, Y2: .9}}
	phone := func(x float64) thing {
		return thing{term: "cell phone", score: .9, box: evidence.Box{X1: x, Y1: .4, X2: x + .05, Y2: .48}}
	}
	holds := query.Is{Thing: a("person", query.Condition{Kind: query.KindAction, Value: "holding phone"})}
	require.Equal(t, answer.Yes, typed(t, query.AskWhether, holds, during(3, person, phone(.45))...).Answer)
	require.Equal(t, answer.No, typed(t, query.AskWhether, holds, during(3, person, phone(.8))...).Answer)
	require.Equal(t, answer.No, typed(t, query.AskWhether, holds, during(3, person)...).Answer)
}

// TestRelationToAColoredThing: the object of a relation has conditions of its own.
func TestRelationToAColoredThing(t *testing.T) {
	t.Parallel()
	bus := func(color string) thing {
		return thing{term: "bus", score: .9, box: evidence.Box{X1: .32, Y1: .3, X2: .7, Y2: .6}, colors: map[string]float64{color: .8}}
	}
	near := query.Is{Thing: a("dog", query.Condition{Kind: query.KindLocation, Value: "next to red bus"})}
	require.Equal(t, answer.Yes, typed(t, query.AskWhether, near, during(3, aDog, bus("red"))...).Answer)
	require.Equal(t, answer.No, typed(t, query.AskWhether, near, during(3, aDog, bus("blue"))...).Answer)
}
