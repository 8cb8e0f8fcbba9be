package audit

import (
	"context"
	"errors"
	"math"

	"vqa/eventstore/fold"
)

// reader verifies pieces of the log through one connection.
type reader struct {
	scanner
	sizes
	tables []*table
	others []*otherTable
	report Report
	// strays are the streams without a head that it found.
	strays []string
	// unknown are the accounts of which nothing was found.
	unknown []string
	// done is called with the number of verified entries.
	done func(entries int64)
}

// verify verifies a piece of the ledgers.
func (r *reader) verify(ctx context.Context, p piece) error {
	if p.part != nil {
		return r.longLedger(ctx, p.part)
	}
	names := make([]string, len(p.heads))
	for i, h := range p.heads {
		names[i] = accountOf(h.stream)
	}
	rows, err := load(ctx, r.tx, r.tables, names, 0, 0, true)
	if err != nil {
		return err
	}
	accounts := make(map[string]*account, len(p.heads))
	byID := make(map[string]*account, len(p.heads))
	for _, h := range p.heads {
		a := newAccount(h, rows)
		accounts[h.stream], byID[a.id] = a, a
	}
	var current *account
	entries := int64(0)
	err = r.between(ctx, p, true, func(stream string, e stored) {
		if current == nil || current.head.stream != stream {
			known := false
			if current, known = accounts[stream]; !known {
				r.stray(stream)
				return
			}
		}
		current.take(e)
		entries++
	})
	if err != nil {
		return err
	}
	r.done(entries)
	return r.finish(ctx, rows, byID)
}

// between scans the streams of a range.
func (r *reader) between(ctx context.Context, p piece, decode bool, take func(string, stored)) error {
	sql := betweenSQL
	if p.including {
		sql = upToSQL
	}
	return r.scan(ctx, decode, take, sql, p.from, p.to)
}

func (r *reader) stray(stream string) {
	if n := len(r.strays); n == 0 || r.strays[n-1] != stream {
		r.strays = append(r.strays, stream)
	}
}

// longLedger verifies a part of a long ledger. It checks the chain and decodes the events
// at once. It folds them after the parts before.
func (r *reader) longLedger(ctx context.Context, p *part) error {
	end := int64(math.MaxInt64)
	if p.end > 0 {
		end = p.end
	}
	var a *account
	for first, ended := p.first, false; !ended; {
		events, err := r.partOf(ctx, p.stream, first, end)
		if err != nil {
			return err
		}
		if a == nil {
			if a, err = r.receive(ctx, p); err != nil {
				return err
			}
		}
		next := end
		if ended = p.end > 0 || int64(len(events)) < r.part; !ended {
			next = events[len(events)-1].version + 1
		}
		if err := r.foldPart(ctx, a, events, first, next); err != nil {
			return err
		}
		first = next
	}
	if p.after != nil {
		p.after <- a
		return nil
	}
	return r.finish(ctx, a.rows, map[string]*account{a.id: a})
}

// partOf reads a part of one stream, and the event before it, from which the first event
// must follow.
func (r *reader) partOf(ctx context.Context, stream string, first, end int64) ([]stored, error) {
	var events []stored
	err := r.scan(ctx, true, func(_ string, e stored) {
		if e.version >= first {
			events = append(events, e)
		}
	}, partSQL, stream, first-1, end, r.part+1)
	return events[:min(int64(len(events)), r.part)], err
}

// receive creates a ledger, or waits for the ledger from the reader of the part before.
func (r *reader) receive(ctx context.Context, p *part) (*account, error) {
	if p.before != nil {
		select {
		case a := <-p.before:
			return a, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return newAccount(p.head, nil), nil
}

// foldPart folds the versions from first to before end.
func (r *reader) foldPart(ctx context.Context, a *account, events []stored, first, end int64) error {
	last := end == math.MaxInt64
	var err error
	if a.rows, err = load(ctx, r.tx, r.tables, []string{a.id}, first, end, last); err != nil {
		return err
	}
	for _, e := range events {
		a.take(e)
	}
	r.done(int64(len(events)))
	if !last {
		a.rows.surplus(map[string]*account{a.id: a})
	}
	return nil
}

// finish ends ledgers whose events have all been folded.
func (r *reader) finish(ctx context.Context, rows *loaded, accounts map[string]*account) error {
	for _, a := range accounts {
		err := errors.Join(
			rows.state(a.history, fold.Credit.Category(), a.id, a.state),
			r.checkRefunds(ctx, a),
		)
		if err != nil {
			return err
		}
	}
	rows.surplus(accounts)
	for _, a := range accounts {
		a.end()
		found := a.verdict()
		r.report.add(found...)
		if r.count(a); a.taken == 0 && len(found) == 0 {
			r.unknown = append(r.unknown, a.id)
		}
	}
	return nil
}

// count adds a ledger to the report.
func (r *reader) count(a *account) {
	if a.taken > 0 {
		r.report.Accounts++
	}
	r.report.Entries += a.taken
	r.stream(a.history)
	for name, seconds := range a.posted {
		r.report.LedgerAccounts[a.together(name)] += seconds
	}
}

func (r *reader) stream(h *history) {
	if h.taken > 0 {
		r.report.Streams++
		r.report.Events += h.taken
	}
}
