package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPageIsCurrent checks that docs/words.md was written from the table as it is now.
func TestPageIsCurrent(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../words/classes.txt")
	require.NoError(t, err)
	written, err := os.ReadFile("../../../../docs/words.md")
	require.NoError(t, err)
	require.Equal(t, string(page(string(table))), string(written), "run go generate ./domain/query/vocabulary")
	for _, row := range []string{"| couch | sofa, settee |", "| car, truck, bus | van, minivan,", "| person riding bicycle | cyclist,", "driver, pilot,"} {
		require.Contains(t, string(written), row)
	}
}
