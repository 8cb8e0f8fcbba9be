package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdempotentOperationsCanBeAnsweredAgain: after a crash between commit and response, the
// response is rendered from the receipt.
func TestIdempotentOperationsCanBeAnsweredAgain(t *testing.T) {
	t.Parallel()
	idempotent := map[string]bool{}
	for _, op := range describedOperations(t) {
		for _, p := range op.parameters {
			if p == "#/components/parameters/IdempotencyKey" {
				idempotent[op.id] = true
			}
		}
	}
	require.NotEmpty(t, idempotent)
	for id := range recreators {
		require.True(t, idempotent[id], "%s takes no Idempotency-Key", id)
	}
	for id := range idempotent {
		require.Contains(t, recreators, id)
	}
}
