package export

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/translog"
	"vqa/projections/ledger/book"
)

// stored returns the event of a line.
func (l storedLine) stored() (e book.Stored, err error) {
	if e.Stream, err = codec.ParseStreamID(l.Stream); err != nil {
		return e, err
	}
	if err = decodeChain(l.Chain, &e.Chain); err != nil {
		return e, err
	}
	e.Position, e.Version, e.Type, e.AccountID, e.Data, e.Meta = l.Position, l.Version, l.Type, l.AccountID, []byte(l.Data), []byte(l.Meta)
	e.RecordedAt, err = time.Parse(translog.TimeFormat, l.RecordedAt)
	return e, err
}

func decodeChain(text string, into *eventstore.Chain) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(into) {
		return fmt.Errorf("%q is not a chain of %d bytes in hexadecimal", text, len(into))
	}
	*into = eventstore.Chain(raw)
	return nil
}

// seal verifies the event at the end of the log.
func (b *reading) seal() error {
	l := b.proof.Seal
	e, err := l.stored()
	if err != nil {
		return contradiction("proof.json", "the seal: %v", err)
	}
	b.evidence.Seal = translog.Indexed{Index: l.Index, Leaf: leafOf(e)}
	row := func(problem string) error {
		return &Contradiction{File: "proof.json", Problem: problem, Stream: l.Stream, Version: l.Version, Position: l.Position}
	}
	if l.Index != b.newest.Size-1 {
		return row("the seal is not the last leaf of the log")
	}
	var before eventstore.Chain
	if l.Before == nil || decodeChain(*l.Before, &before) != nil {
		return row("the chain before the seal is missing or malformed")
	}
	if codec.Link(before, e.Encoded) != e.Chain {
		return row("the seal was altered: its hash does not follow from its content")
	}
	if err := b.evidence.VerifyPath(b.newest.Tree, b.evidence.Seal); err != nil {
		return row(err.Error())
	}
	event, err := b.codec.Unmarshal(e.Type, e.Data)
	if err != nil {
		return row(err.Error())
	}
	sealed, ok := event.(credit.LogSealed)
	if !ok || sealed.Log != b.number {
		return row("it is not a seal of this log")
	}
	b.sealed = sealed
	return nil
}

// lines reads the entries.
func (b *reading) lines() iter.Seq2[storedLine, error] {
	return func(yield func(storedLine, error) bool) {
		file, err := b.open("entries.jsonl")
		if err != nil {
			yield(storedLine{}, err)
			return
		}
		defer file.Close() //nolint:errcheck // it was only read
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, mostLine)
		for n := 1; lines.Scan(); n++ {
			var l storedLine
			if err := strictly(lines.Bytes(), &l); err != nil {
				yield(l, contradiction(fmt.Sprintf("entries.jsonl line %d", n), "%v", err))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(storedLine{}, fmt.Errorf("entries.jsonl: %w", err))
		}
	}
}

// entries verifies each entry. It returns the state after the last one and its chain.
func (b *reading) entries() (state credit.State, before eventstore.Chain, err error) {
	account, n := b.is.AccountID, int64(0)
	state.AccountID = account
	for l, err := range b.lines() {
		if err != nil {
			return state, before, err
		}
		n++
		row := func(problem string) (credit.State, eventstore.Chain, error) {
			return state, before, &Contradiction{
				File: fmt.Sprintf("entries.jsonl line %d", n), Problem: problem, Stream: l.Stream, Version: l.Version, Position: l.Position,
			}
		}
		e, err := l.stored()
		if err != nil {
			return row(err.Error())
		}
		if e.Stream != fold.Credit.Stream(account) || e.Version != n || e.Position > b.sealed.Position {
			return row(fmt.Sprintf("it is not version %d of credit/%s, up to the seal", n, account))
		}
		if codec.Link(before, e.Encoded) != e.Chain {
			return row("it was altered: its hash does not follow from its content")
		}
		leaf := translog.Indexed{Index: l.Index, Leaf: leafOf(e)}
		if err := b.evidence.VerifyPath(b.newest.Tree, leaf); err != nil {
			return row(err.Error())
		}
		event, err := b.codec.Unmarshal(e.Type, e.Data)
		if err != nil {
			return row(err.Error())
		}
		entry, ok := event.(credit.Event)
		if !ok {
			return row(l.Type + " is not a ledger event")
		}
		if problem := credit.Examine(state, account, entry); problem != "" {
			return row(problem)
		}
		state, before = fold.Credit.Evolve(state, entry), e.Chain
		b.evidence.Entries = append(b.evidence.Entries, leaf)
	}
	return state, before, nil
}

// account verifies that the account tree of the seal has exactly this ledger, or none.
func (b *reading) account(s credit.State, chain eventstore.Chain) error {
	root, err := translog.ParseHash(b.sealed.AccountRoot)
	if err != nil {
		return contradiction("proof.json", "%v", err)
	}
	tree, found := translog.Tree{Size: b.sealed.Accounts, Root: root}, b.evidence.Accounts
	if len(found) == 1 && found[0].Account.ID == b.is.AccountID {
		if err := found[0].Verify(tree); err != nil {
			return contradiction("proof.json", "%v", err)
		}
		t := s.Totals
		want := translog.Account{
			ID: b.is.AccountID, Version: int64(len(b.evidence.Entries)), Chain: chain, PostedSeconds: s.PostedSeconds, HeldSeconds: s.HeldSeconds,
			Totals: [6]int64{t.Grants, t.CardGrants, t.Sales, t.Adjustments, t.AnalysisUsage, t.StreamUsage},
		}
		if found[0].Account != want {
			return contradiction("entries.jsonl", "the sealed ledger has %d entries and %d s posted, but the entries are %d and give %d s, or another chain or other totals",
				found[0].Account.Version, found[0].Account.PostedSeconds, want.Version, want.PostedSeconds)
		}
		return nil
	}
	if err := translog.VerifyAbsence(tree, b.is.AccountID, found); err != nil {
		return contradiction("proof.json", "%v", err)
	}
	if n := len(b.evidence.Entries); n > 0 {
		return contradiction("entries.jsonl", "there are %d entries, but the seal has no ledger of %s", n, b.is.AccountID)
	}
	return nil
}
