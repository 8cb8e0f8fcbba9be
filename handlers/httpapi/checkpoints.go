package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// checkpointHeader is the header with the newest checkpoint in base64, so that customers keep it.
const checkpointHeader = "VQA-Ledger-Checkpoint"

// checkpointPath is the only address of a checkpoint: the numbers are decimal, without a sign and leading zeros.
const checkpointPath = "/.well-known/vqa-ledger/%d/checkpoints/%d"

// Checkpoints reads the signed checkpoints of the transparency log.
type Checkpoints interface {
	// NewestCheckpoint returns the newest one that this node has seen, or nil.
	NewestCheckpoint() []byte
	// ReadCheckpoint returns the one of a log with a size, or nil when there is none.
	ReadCheckpoint(ctx context.Context, log, size int64) ([]byte, error)
}

// GetLedgerCheckpoint answers GET /.well-known/vqa-ledger/checkpoint.
func (s *server) GetLedgerCheckpoint(context.Context, api.GetLedgerCheckpointRequestObject) (api.GetLedgerCheckpointResponseObject, error) {
	signed := s.newestCheckpoint()
	if signed == nil {
		return nil, fault.New(fault.ResourceNotFound, "No checkpoint is signed yet. Try again in a minute.")
	}
	return api.GetLedgerCheckpoint200TextResponse(signed), nil
}

// GetLedgerCheckpointOfSize answers GET /.well-known/vqa-ledger/{log}/checkpoints/{size}.
func (s *server) GetLedgerCheckpointOfSize(ctx context.Context, r api.GetLedgerCheckpointOfSizeRequestObject) (api.GetLedgerCheckpointOfSizeResponseObject, error) {
	// The generated server also reads numbers such as +7 and 07.
	if path := fmt.Sprintf(checkpointPath, r.Log, r.Size); edge.ExchangeOf(ctx).Request.URL.EscapedPath() != path {
		return nil, fault.New(fault.ResourceNotFound, "No checkpoint has this address. Write both numbers in decimal digits, without a sign and leading zeros.")
	}
	if s.Checkpoints != nil && r.Log > 0 && r.Size > 0 {
		signed, err := s.Checkpoints.ReadCheckpoint(ctx, r.Log, r.Size)
		if err != nil {
			return nil, err
		}
		if signed != nil {
			return api.GetLedgerCheckpointOfSize200TextResponse(signed), nil
		}
	}
	return nil, fault.Newf(fault.ResourceNotFound, "Log %d has no checkpoint of size %d.", r.Log, r.Size)
}

func (s *server) newestCheckpoint() []byte {
	if s.Checkpoints == nil {
		return nil
	}
	return s.Checkpoints.NewestCheckpoint()
}

// addCheckpoint adds the newest checkpoint to the headers of a response.
func (s *server) addCheckpoint(ctx context.Context) {
	if signed := s.newestCheckpoint(); signed != nil {
		edge.ExchangeOf(ctx).Header().Set(checkpointHeader, base64.StdEncoding.EncodeToString(signed))
	}
}
