package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/prove"
	"vqa/handlers/seal"
)

// contradicting answers each request for a proof with an error.
type contradicting struct{ err error }

func (c contradicting) Entry(context.Context, string, int64) ([]byte, error) { return nil, c.err }

// TestAProofThatContradictsTheLogRaisesTheAlarm: the customer's request names what the sealer cannot see.
func TestAProofThatContradictsTheLogRaisesTheAlarm(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	_, err := reportingProofs{contradicting{prove.ErrPending}, sealer.Report}.Entry(t.Context(), "acct_1", 1)
	require.ErrorIs(t, err, prove.ErrPending)
	require.Nil(t, sealer.Found(), "an entry of the last minute has no proof yet")
	finding := &seal.Finding{Problem: "the entry was never sealed, although a later one was"}
	_, err = reportingProofs{contradicting{finding}, sealer.Report}.Entry(t.Context(), "acct_1", 1)
	require.ErrorIs(t, err, finding)
	require.Equal(t, finding, sealer.Found())
}
