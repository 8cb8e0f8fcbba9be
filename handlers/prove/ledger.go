package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

// ErrUnsealed says that the newest log has no checkpoint yet.
var ErrUnsealed = errors.New("no checkpoint is signed yet")

// unsealed returns ErrUnsealed with what to do. log is the number of the newest log, or 0 before the first.
func unsealed(log int64) error {
	const do = "The sealer of a running service signs one within a minute, and vqa ledger checkpoint signs one now"
	if log > 1 {
		return fmt.Errorf("log %d has begun, but %w in it. %s", log, ErrUnsealed, do)
	}
	return fmt.Errorf("%w. %s", ErrUnsealed, do)
}

// page is the number of places that are read at once.
const page = 16 * translog.TileWidth

// Ledger returns the evidence for an account's ledger at the newest checkpoint. older is a signed checkpoint
// that the newest one extends; when it is nil, the oldest anchored one of the log is used. Errors: ErrUnsealed,
// validation_failed for an older checkpoint of another log, or *seal.Finding when the database contradicts the log.
func (p *Prover) Ledger(ctx context.Context, accountID string, older []byte) (*translog.Evidence, error) {
	h, err := p.Head(ctx)
	if err != nil {
		return nil, err
	}
	if h.Signed == nil {
		return nil, unsealed(h.Opening.Number)
	}
	e := &translog.Evidence{Checkpoint: h.Signed}
	if err := p.notes(ctx, h, e); err != nil {
		return nil, err
	}
	files := seal.Tree{Files: seal.Cached(p.Tiles), Log: h.Opening.Number}
	if err := p.consistency(ctx, h, files, older, e); err != nil {
		return nil, err
	}
	sealed, err := p.sealed(ctx, h, files, e)
	if err != nil {
		return nil, err
	}
	version, err := p.account(ctx, accountID, sealed, e)
	if err != nil {
		return nil, err
	}
	return e, p.entries(ctx, accountID, version, h, files, e)
}

// notes reads the key statements and the openings as they were signed. They were verified with the head.
func (p *Prover) notes(ctx context.Context, h seal.Head, e *translog.Evidence) (err error) {
	if e.Statements, err = p.Anchors.Statements(ctx); err != nil {
		return err
	}
	if _, err := translog.ReadKeys(e.Statements, p.Anchors.Pins...); err != nil {
		return &seal.Finding{Problem: err.Error()}
	}
	e.Openings, err = p.Anchors.SignedOpenings(ctx)
	if n := int64(len(e.Openings)); err == nil && n != h.Opening.Number {
		err = fmt.Errorf("log %d was begun while the proof was made; try again", n)
	}
	return err
}

// consistency proves that the newest checkpoint extends an older one.
func (p *Prover) consistency(ctx context.Context, h seal.Head, files seal.Tree, older []byte, e *translog.Evidence) error {
	if older == nil {
		var err error
		if older, err = p.Anchors.Oldest(ctx, h); err != nil {
			return err
		}
	}
	origin, rest, _ := strings.Cut(string(older), "\n")
	if origin != h.Opening.Origin {
		return fault.Newf(fault.ValidationFailed, "The older checkpoint is one of the log %.200q, and the ledger is now sealed in %q. A bundle covers one log. Run \"vqa ledger verify --against\" on the database or on a replica; it compares the old log, too.", origin, h.Opening.Origin)
	}
	c, err := h.Keys.Open(h.Opening.Number, older)
	if err != nil {
		return err
	}
	if c.Size > h.Checkpoint.Size {
		size, _, _ := strings.Cut(rest, "\n")
		return &seal.Finding{Problem: fmt.Sprintf("the log was shortened: it has %d leaves, and the older checkpoint %s", h.Checkpoint.Size, size)}
	}
	if e.Consistency, err = translog.ProveConsistency(h.Checkpoint.Tree, files.Read(ctx), c.Size); err != nil {
		return err
	}
	if err := translog.VerifyConsistency(c.Tree, h.Checkpoint.Tree, e.Consistency); err != nil {
		return &seal.Finding{Problem: err.Error()}
	}
	e.Older = older
	return nil
}

// sealed returns the event that is the last leaf of a checkpoint.
func (p *Prover) sealed(ctx context.Context, h seal.Head, files seal.Tree, e *translog.Evidence) (credit.LogSealed, error) {
	tree := h.Checkpoint.Tree
	_, records, err := translog.ReadRecords(tree, files.Read(ctx), tree.Size-1)
	if err != nil {
		return credit.LogSealed{}, err
	}
	leaf, err := translog.ParseLeaf(records[len(records)-1])
	if err != nil {
		return credit.LogSealed{}, err
	}
	wrong := seal.Named(leaf, "the last leaf of the newest checkpoint is not the seal that it was")
	rows, err := p.Rows.Raws(ctx, "", leaf.Position-1, leaf.Position, 1)
	if err != nil {
		return credit.LogSealed{}, err
	}
	if len(rows) != 1 || seal.LeafOf(rows[0]) != leaf {
		return credit.LogSealed{}, wrong
	}
	event, err := p.Codec.Unmarshal(rows[0].Type, rows[0].Data)
	if err != nil {
		return credit.LogSealed{}, err
	}
	sealed, ok := event.(credit.LogSealed)
	if !ok {
		return credit.LogSealed{}, wrong
	}
	e.Seal = translog.Indexed{Index: tree.Size - 1, Leaf: leaf}
	return sealed, e.AddPath(tree, files.Read(ctx), tree.Size-1)
}

// account proves the leaf of an account, or its absence, and returns its version. Without a leaf it is 0.
func (p *Prover) account(ctx context.Context, accountID string, sealed credit.LogSealed, e *translog.Evidence) (version int64, err error) {
	accounts, err := seal.Accounts(ctx, p.Rows, p.Codec, sealed.Position)
	if err != nil {
		return 0, err
	}
	if tree := accounts.Tree(); tree.Size != sealed.Accounts || tree.Root.String() != sealed.AccountRoot {
		return 0, &seal.Finding{Problem: fmt.Sprintf("the ledgers up to position %d do not have the account root of the seal at position %d", sealed.Position, e.Seal.Position)}
	}
	if _, found := accounts.Get(accountID); !found {
		e.Accounts, err = accounts.ProveAbsence(accountID)
		return 0, err
	}
	proof, err := accounts.Prove(accountID)
	e.Accounts = []translog.AccountProof{proof}
	return proof.Account.Version, err
}

// entries proves the entries of an account up to a version.
func (p *Prover) entries(ctx context.Context, accountID string, version int64, h seal.Head, files seal.Tree, e *translog.Evidence) error {
	stream, read := fold.Credit.Stream(accountID).String(), files.Read(ctx)
	leaves := map[int64]translog.Indexed{}
	for after := int64(0); after < version; {
		var wanted []postgres.Place
		for v := after + 1; v <= min(after+page, version); v++ {
			wanted = append(wanted, postgres.Place{Stream: stream, Version: v})
		}
		places, err := p.Rows.Places(ctx, wanted)
		if err != nil {
			return err
		}
		if len(places) != len(wanted) {
			return &seal.Finding{Stream: stream, Problem: fmt.Sprintf("%d of the events up to version %d are missing", len(wanted)-len(places), after+int64(len(wanted)))}
		}
		for _, place := range places {
			leaves[place.Version] = translog.Indexed{Leaf: seal.LeafAt(place)}
		}
		after += int64(len(wanted))
	}
	var bundle [][]byte
	first := int64(-1)
	for v := int64(1); v <= version; v++ {
		l := leaves[v]
		if l.Index = indexIn(bundle, first, l.Leaf); l.Index < 0 {
			at, sealed, found, err := files.Locate(ctx, h.Checkpoint.Tree, l.Position)
			if err != nil {
				return err
			}
			if !found || sealed.Hash() != l.Hash() {
				return seal.Named(l.Leaf, "the row is not the one that was sealed as leaf "+strconv.FormatInt(at, 10))
			}
			if first, bundle, err = translog.ReadRecords(h.Checkpoint.Tree, read, at); err != nil {
				return err
			}
			l.Index = at
		}
		if err := e.AddPath(h.Checkpoint.Tree, read, l.Index); err != nil {
			return err
		}
		e.Entries = append(e.Entries, l)
	}
	return nil
}

// indexIn returns the index of a leaf in a bundle of records that begins with the leaf first, or -1.
func indexIn(bundle [][]byte, first int64, l translog.Leaf) int64 {
	record := l.Record()
	for i, r := range bundle {
		if bytes.Equal(r, record) {
			return first + int64(i)
		}
	}
	return -1
}
