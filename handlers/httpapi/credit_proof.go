package httpapi

import (
	"context"
	"errors"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/prove"
)

// proofPause is the Retry-After of a pending proof, in seconds.
const proofPause = "15"

// GetCreditProof answers GET /v1/credits/{id}/proof.
func (s *server) GetCreditProof(ctx context.Context, r api.GetCreditProofRequestObject) (api.GetCreditProofResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	if !id.Valid(id.Transaction, r.Id) {
		return nil, fault.NotFound("id", r.Id)
	}
	t, err := s.Ledger.Transaction(ctx, x.Caller.AccountID, r.Id)
	if err != nil {
		return nil, err
	}
	err = prove.ErrPending
	var proof []byte
	if s.Proofs != nil {
		proof, err = s.Proofs.Entry(ctx, x.Caller.AccountID, t.Version)
	}
	if errors.Is(err, prove.ErrPending) {
		x.Header().Set("Retry-After", proofPause)
		return api.GetCreditProof202JSONResponse{Object: api.CreditProof, Status: api.PendingCreditProofStatusPending}, nil
	}
	return api.GetCreditProof200TextResponse(proof), err
}
