package artifact

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query"
)

// TestVerdictOfACountIsItsNumber checks the text on the pictures for each kind of question.
func TestVerdictOfACountIsItsNumber(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]Input{
		"3 (97%)":       {Intent: query.Count, Result: answer.Result{Answer: answer.Yes, Confidence: .97, DetectedCount: new(3)}},
		"0 (80%)":       {Intent: query.Count, Result: answer.Result{Answer: answer.No, Confidence: .8, DetectedCount: new(0)}},
		"NO 80% · 1":    {Intent: query.CountThreshold, Result: answer.Result{Answer: answer.No, Confidence: .8, DetectedCount: new(1)}},
		"YES 97%":       {Intent: query.Presence, Result: answer.Result{Answer: answer.Yes, Confidence: .97}},
		"INDETERMINATE": {Intent: query.Count, Result: answer.Result{Answer: answer.Indeterminate, DetectedCount: new(0)}},
	} {
		got, _ := in.verdict()
		require.Equal(t, want, got)
	}
}
