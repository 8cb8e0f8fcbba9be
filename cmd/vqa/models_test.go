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
		"118 of 127 right, calibration error 0.050": {Model: "m", Quality: &answer.Quality{Questions: 127, Right: 118, CalibrationError: .05}},
	} {
		require.Equal(t, want, m.cells()[5])
	}
	require.Equal(t, []string{"pixtral", "vision", "not reported", "not reported", "any term", "not measured", "not measured"},
		listedModel{Model: "pixtral", Use: "vision"}.cells())
	require.Equal(t, []string{"m", "detector", "w/1", "MIT", "2 terms", "not measured", "18.0"},
		listedModel{Model: "m", Use: "detector", Program: "w/1", License: "MIT", Vocabulary: []string{"dog", "cat"}, FramesPerSecond: &speed}.cells())
}
