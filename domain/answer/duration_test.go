package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

func TestMismatch(t *testing.T) {
	t.Parallel()
	length := func(s float64) *float64 { return &s }
	for _, tt := range []struct {
		prompt   string
		decodedS float64
		plannedS *float64
		mismatch bool
	}{
		{"Is there a dog?", 10, length(60), false}, // no time is asked about
		{"Is there a dog in the first ten seconds?", 6, length(6), false},
		{"Is there a dog after 5 seconds?", 6, length(6), false},
		{"Is there a dog after 6 seconds?", 6, length(6), true},
		{"Is there a dog at 1:30?", 60, length(60), true},
		{"Is there a dog at 1:00?", 60, length(60), false}, // from 0:59 to 1:01
		{"Is there a dog at 1:30?", 60, nil, true},
		{"Is there a dog at the end?", 60, nil, false},
		{"Is there a dog at the end?", 60, length(60.9), false},
		{"Is there a dog at the end?", 60, length(62.9), false}, // 5% of the planned length
		{"Is there a dog at the end?", 60, length(64), true},
		{"Is there a dog in the second half?", 60, length(56), true},
	} {
		q := english.Compile(tt.prompt)
		r, mismatch := answer.Mismatch(q, evidence.Evidence{DurationS: tt.decodedS, IntervalS: .5}, tt.plannedS)
		require.Equal(t, tt.mismatch, mismatch, "%+v", tt)
		if mismatch {
			require.Equal(t, answer.Indeterminate, r.Answer)
			require.Equal(t, query.DurationMismatch, *r.IndeterminateReason)
			require.Zero(t, r.Confidence)
			require.InDelta(t, tt.decodedS, *r.VideoDurationS, 0)
		}
	}
}
