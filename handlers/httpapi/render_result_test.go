package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
)

// TestUndecidedIsRendered: only a result with an undecided part has the member.
func TestUndecidedIsRendered(t *testing.T) {
	t.Parallel()
	render := func(r answer.Result) map[string]any {
		raw, err := json.Marshal((&server{}).renderResult(r))
		require.NoError(t, err)
		var out map[string]any
		require.NoError(t, json.Unmarshal(raw, &out))
		return out
	}
	require.Equal(t, "Whether it is a dog cannot be told.", render(answer.Result{Answer: answer.Indeterminate, Undecided: "Whether it is a dog cannot be told."})["undecided"])
	require.NotContains(t, render(answer.Result{Answer: answer.Yes}), "undecided")
}
