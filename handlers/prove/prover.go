package prove

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"vqa/domain/fault"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
	"vqa/handlers/anchor"
	"vqa/handlers/seal"
)

// ErrPending says that no checkpoint covers an event yet.
var ErrPending = errors.New("no checkpoint covers the event yet")

// Prover reads the transparency log. It is safe for concurrent use.
type Prover struct {
	Rows seal.Events
	// Codec decodes the seals and the entries for Ledger.
	Codec *codec.Codec
	// Anchors has the checkpoints. Tiles has tiles and records; it may be the same place.
	Anchors seal.Anchors
	Tiles   seal.Files

	mu   sync.Mutex
	head seal.Head
}

// Head returns the newest checkpoint. Its Signed is nil before the first.
func (p *Prover) Head(ctx context.Context) (seal.Head, error) {
	p.mu.Lock()
	known := p.head
	p.mu.Unlock()
	h, err := p.Anchors.Head(ctx, known)
	if err != nil {
		return h, fmt.Errorf("read the newest checkpoint of the ledger: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if newer := h.Opening.Number > p.head.Opening.Number || h.Checkpoint.Size > p.head.Checkpoint.Size; newer {
		p.head = h
	}
	return h, nil
}

// known returns the newest checkpoint that was read before.
func (p *Prover) known() seal.Head {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head
}

// Entry returns the proof that the log has an entry of an account's ledger, as a file in the form of C2SP
// tlog-proof. Its extra line is the record of the leaf. Errors: ErrPending, or resource_not_found when the
// account has no such entry.
func (p *Prover) Entry(ctx context.Context, accountID string, version int64) ([]byte, error) {
	stream := fold.Credit.Stream(accountID).String()
	places, err := p.Rows.Places(ctx, []postgres.Place{{Stream: stream, Version: version}})
	if err != nil {
		return nil, err
	}
	if len(places) != 1 {
		return nil, fault.New(fault.ResourceNotFound, "There is no such entry in the ledger.")
	}
	leaf := seal.LeafAt(places[0])
	proof, err := p.Inclusion(ctx, p.known(), leaf)
	// The sealer removes partial tiles of a checkpoint an hour after the next one.
	if errors.Is(err, ErrPending) || errors.Is(err, anchor.ErrMissing) {
		h, headErr := p.Head(ctx)
		if headErr != nil {
			return nil, headErr
		}
		proof, err = p.Inclusion(ctx, h, leaf)
	}
	if err != nil {
		return nil, err
	}
	return proof.Format(), nil
}

// Inclusion returns the proof that the tree of a checkpoint has a leaf. Errors: ErrPending when the
// checkpoint ends before it, *seal.Finding when the tree has another leaf in its place.
func (p *Prover) Inclusion(ctx context.Context, h seal.Head, leaf translog.Leaf) (translog.Proof, error) {
	if h.Signed == nil {
		return translog.Proof{}, ErrPending
	}
	files, tree := seal.Tree{Files: seal.Cached(p.Tiles), Log: h.Opening.Number}, h.Checkpoint.Tree
	index, sealed, found, err := files.Locate(ctx, tree, leaf.Position)
	if err != nil {
		return translog.Proof{}, fmt.Errorf("find the leaf of position %d: %w", leaf.Position, err)
	}
	if !found {
		return translog.Proof{}, p.missing(ctx, files, tree, leaf)
	}
	if sealed.Hash() != leaf.Hash() {
		return translog.Proof{}, seal.Named(leaf, fmt.Sprintf("the row is not the event of leaf %d", index))
	}
	proof := translog.Proof{Record: leaf.Record(), Index: index, Checkpoint: h.Signed}
	if proof.Hashes, err = translog.ProveInclusion(tree, files.Read(ctx), index); err != nil {
		return translog.Proof{}, err
	}
	return proof, translog.VerifyInclusion(tree, index, leaf.Hash(), proof.Hashes)
}

// missing returns ErrPending for a leaf after the end of a tree, and else a finding.
func (p *Prover) missing(ctx context.Context, files seal.Tree, tree translog.Tree, leaf translog.Leaf) error {
	_, records, err := translog.ReadRecords(tree, files.Read(ctx), tree.Size-1)
	if err != nil {
		return err
	}
	if end, err := translog.ParseLeaf(records[len(records)-1]); err != nil || end.Position < leaf.Position {
		return ErrPending
	}
	return seal.Named(leaf, "the event was never sealed, although a later one was")
}
