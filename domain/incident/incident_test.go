package incident_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/incident"
	"vqa/domain/internal/scenario"
)

var aggregate = scenario.Aggregate[incident.State, incident.Command, incident.Event]{
	Decide: incident.Decide, Evolve: incident.Evolve,
}

type events = []incident.Event

var (
	open   = incident.Open{ID: "inc_1", Title: "The engine is down"}
	opened = incident.Opened{IncidentID: "inc_1", Title: "The engine is down", At: scenario.Now}
	closed = incident.Closed{IncidentID: "inc_1", At: scenario.Now}
)

func TestDecide(t *testing.T) {
	t.Parallel()
	aggregate.Run(t, []scenario.Case[incident.Command, incident.Event]{
		{Name: "an operator opens an incident", When: open, Then: events{opened}},
		{
			Name: "a process opens an incident", When: incident.Open{ID: "inc_1", Title: "The engine is down", Node: "node_1"},
			Then: events{incident.Opened{IncidentID: "inc_1", Title: "The engine is down", Node: "node_1", At: scenario.Now}},
		},
		{Name: "an incident is closed", Given: events{opened}, When: incident.Close{}, Then: events{closed}},
		{Name: "no title", When: incident.Open{ID: "inc_1"}, Refused: fault.ValidationFailed},
		{Name: "a title of 201 characters", When: incident.Open{ID: "inc_1", Title: strings.Repeat("ä", 201)}, Refused: fault.ValidationFailed},
		{
			Name: "a title of 200 characters", When: incident.Open{ID: "inc_1", Title: strings.Repeat("ä", 200)},
			Then: events{incident.Opened{IncidentID: "inc_1", Title: strings.Repeat("ä", 200), At: scenario.Now}},
		},
	})
}

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string]events{"(none)": nil, "open": {opened}, "closed": {opened, closed}}
	when := map[string]incident.Command{"Open": open, "Close": incident.Close{}}
	stateOf := func(s incident.State) string {
		switch {
		case s.Open():
			return "open"
		case s.Exists():
			return "closed"
		}
		return "(none)"
	}
	scenario.ReadTable(t, "state").Check(t, []string{"(none)", "open", "closed"}, []string{"Open", "Close"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			require.Equal(t, state, stateOf(s))
			decided, err := incident.Decide(s, when[command], scenario.Now)
			return stateOf(aggregate.Step(t, s, decided...)), scenario.Outcome(decided, err)
		})
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = incident.Decide(incident.State{}, nil, scenario.Now) })
	require.Panics(t, func() { incident.Evolve(incident.State{}, nil) })
}
