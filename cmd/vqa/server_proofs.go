package main

import (
	"context"

	"vqa/handlers/httpapi"
)

// reportingProofs reports the errors of proofs. A customer who asks for the proof of an entry meets a contradiction
// that the sealer cannot see: the owner of the database can hide an entry from the statement of the sealer only.
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
