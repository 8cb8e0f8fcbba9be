package scenario

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// Now is the time of every decision in a scenario.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Event is a fact of any aggregate.
type Event interface{ EventType() string }

// Aggregate holds the two functions of an aggregate.
type Aggregate[S any, C any, E Event] struct {
	Decide func(S, C, time.Time) ([]E, error)
	Evolve func(S, E) S
}

// Case is one decision. Refused is empty when the command must be accepted.
type Case[C any, E Event] struct {
	Name    string
	Given   []E
	When    C
	Then    []E
	Refused fault.Code
}

// Run checks every case in a subtest with its name.
func (a Aggregate[S, C, E]) Run(t *testing.T, cases []Case[C, E]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			events, err := a.Decide(a.Fold(c.Given...), c.When, Now)
			if c.Refused != "" {
				require.True(t, fault.Has(err, c.Refused), "want %s, got %v", c.Refused, err)
				require.Empty(t, events, "a refused command must not produce events")
				return
			}
			require.NoError(t, err)
			if diff := cmp.Diff(c.Then, events, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Fold is the state after the events.
func (a Aggregate[S, C, E]) Fold(events ...E) S {
	var state S
	for _, e := range events {
		state = a.Evolve(state, e)
	}
	return state
}

// Step folds events into a state. It fails the test when that changes the earlier state. It
// also fails when the new state differs after encoding and decoding as JSON, the form in
// which snapshots and read models store it. It returns the decoded state, so that later
// steps start from it.
func (a Aggregate[S, C, E]) Step(t require.TestingT, before S, events ...E) S {
	untouched := encode(t, before)
	after := before
	for _, e := range events {
		after = a.Evolve(after, e)
	}
	require.Equal(t, untouched, encode(t, before), "Evolve changed the earlier state")
	var decoded S
	require.NoError(t, json.Unmarshal([]byte(encode(t, after)), &decoded))
	if diff := cmp.Diff(after, decoded, cmpopts.EquateEmpty()); diff != "" {
		require.Fail(t, "the state changes when encoded as JSON (-state +decoded)", diff)
	}
	return decoded
}

func encode(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// Outcome is a decision as a state table writes it: the stored names of the events, "(none)",
// or "refused with CODE".
func Outcome[E Event](events []E, err error) string {
	if f := fault.Of(err); f != nil {
		return "refused with " + string(f.Code)
	}
	if err != nil {
		return err.Error()
	}
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.EventType()
	}
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}
