package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
)

func TestRowsOfModels(t *testing.T) {
	t.Parallel()
	speed := 17.96
	for want, m := range map[string]listedModel{
		"not measured": {Model: "pixtral"},
		"AUC 0.937 of 62 present and 326 absent classes": {Model: "m", Quality: &answer.Quality{Present: 62, Absent: 326, AUC: .9371}},
	} {
		require.Equal(t, want, m.cells()[5])
	}
	require.Equal(t, []string{"pixtral", "vision", "not reported", "not reported", "any term", "not measured", "not measured"},
		listedModel{Model: "pixtral", Use: "vision"}.cells())
	require.Equal(t, []string{"m", "detector", "w/1", "MIT", "2 terms", "not measured", "18.0"},
		listedModel{Model: "m", Use: "detector", Program: "w/1", License: "MIT", Vocabulary: []string{"dog", "cat"}, FramesPerSecond: &speed}.cells())
}
