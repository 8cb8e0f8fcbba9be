package scenario

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Row is one row of a state table. State is one or more states separated by commas, or "any".
// Command is one command or "any". Next is "unchanged" where the state stays the same.
type Row struct{ State, Command, Next, Outcome string }

// Name is the name of the row's subtest.
func (r Row) Name() string { return r.State + " --" + r.Command + "--> " + r.Next }

// Table is the state table of a package, in the written order. For a pair of state and command
// the first row that covers it applies.
type Table []Row

// ReadTable reads the state tables of doc.go in the folder of the test. It takes the tables
// whose first column has the heading column.
func ReadTable(t *testing.T, column string) Table {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var table Table
	inside := false
	for line := range strings.Lines(string(text)) {
		row, ok := strings.CutPrefix(strings.TrimSpace(line), "//\t")
		cells := strings.Split(row, "|")
		if !ok || len(cells) != 4 {
			inside = false
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[1] == "command" {
			inside = cells[0] == column
			continue
		}
		if inside {
			table = append(table, Row{cells[0], cells[1], cells[2], cells[3]})
		}
	}
	require.NotEmpty(t, table, "doc.go has no state table headed %q", column)
	return table
}

// Check compares every pair of a state and a command with the table. decide runs the pair and
// returns the state afterwards and the outcome. A row must cover each pair, and each row must
// cover a pair.
func (table Table) Check(t *testing.T, states, commands []string, decide func(t *testing.T, state, command string) (next, outcome string)) {
	t.Helper()
	used := make([]bool, len(table))
	for _, state := range states {
		for _, command := range commands {
			i := slices.IndexFunc(table, func(r Row) bool { return r.covers(state, command) })
			require.GreaterOrEqual(t, i, 0, "no row of doc.go covers %s | %s", state, command)
			used[i] = true
			want := table[i]
			want.State, want.Command = state, command
			if want.Next == "unchanged" {
				want.Next = state
			}
			t.Run(want.Name(), func(t *testing.T) {
				next, outcome := decide(t, state, command)
				require.Equal(t, want, Row{state, command, next, outcome})
			})
		}
	}
	for i, r := range table {
		require.True(t, used[i], "the row %q of doc.go covers no pair", r.Name())
	}
}

func (r Row) covers(state, command string) bool {
	return (r.State == "any" || slices.Contains(strings.Split(r.State, ", "), state)) &&
		(r.Command == "any" || r.Command == command)
}
