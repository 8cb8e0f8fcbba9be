package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsageHasItsExitStatus calls commands as they are not meant.
func TestUsageHasItsExitStatus(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"ak"}, {"--nonsense"}, {"keys", "lost"}, {"ledger", "keys", "lost"}, {"events", "parked", "lost"}, {"keys", "create", "--nonsense"},
		{"ask"}, {"ask", "one.mp4"}, {"ask", "a", "b", "--nonsense"}, {"eval"}, {"version", "x"},
		{"keys", "create"}, {"keys", "create", "--mode", "test", "--grant-seconds", "5"}, {"keys", "revoke", "a"},
		{"credits", "grant", "acct", "ten", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "grant", "acct", "-5", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "grant", "acct", "5", "--kind", "purchase", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "refund", "acct", "txn", "0", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "refund", "acct", "txn", "x", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "refund", "acct", "txn"}, {"credits", "refund", "acct", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "grant", "acct", "5", "--reason", "r"}, {"credits", "grant", "acct", "5", "--idempotency-key", "k"},
	} {
		var complaint bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(io.Discard)
		root.SetErr(&complaint)
		require.ErrorIs(t, root.ExecuteContext(t.Context()), exitUsage, "%v", args)
		require.Contains(t, complaint.String(), "vqa:")
	}
}
