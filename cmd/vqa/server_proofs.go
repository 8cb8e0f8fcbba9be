package main

import (
	"context"

	"vqa/handlers/httpapi"
)

// reportingProofs passes the errors of proofs to report. The owner of the database can hide an entry from the sealer
// only. The request of a customer for the proof of that entry then fails, and report raises the alarm.
type reportingProofs struct {
	httpapi.Proofs
	report func(ctx context.Context, err error)
}

// Entry implements httpapi.Proofs.
func (p reportingProofs) Entry(ctx context.Context, accountID string, version int64) ([]byte, error) {
	proof, err := p.Proofs.Entry(ctx, accountID, version)
	if err != nil {
		p.report(ctx, err)
	}
	return proof, err
}
