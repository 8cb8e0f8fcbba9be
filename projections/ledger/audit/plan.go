package audit

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// sizes are the sizes of the pieces that a reader reads at once.
type sizes struct {
	// A piece ends when it has this many events or streams.
	pieceEvents, pieceStreams int64
	// page is the number of heads or events that one statement reads.
	page int
}

var usualSizes = sizes{pieceEvents: 4096, pieceStreams: 512, page: 4096}

// head is a row of the table streams.
type head struct {
	stream   string
	version  int64
	chain    eventstore.Chain
	snapshot storedSnapshot
}

// storedSnapshot is the snapshot of a stream. Its version is 0 when there is none.
type storedSnapshot struct {
	version           int64
	state, chain, mac []byte
}

// noHead is the version in the head of a stream that has no row.
const noHead = -1

// piece is the work of one reader: the events after a version of a stream, up to the end of the stream to. They include
// those of streams without a head.
type piece struct {
	after   string
	version int64
	to      string
	heads   []head
}

const headsSQL = `select stream, version, chain, snapshot_version, snapshot::text, snapshot_chain, snapshot_mac from streams
 where case when $1::text[] is null then stream > $2 else stream = any($1) end order by stream limit $3`

// plan emits pieces that together contain every event in scope.
func (r *run) plan(ctx context.Context, emit func(piece) error) error {
	if !r.scope.AllStreams {
		return r.planNamed(ctx, emit)
	}
	var last, end string
	next := piece{version: math.MaxInt64}
	var events int64
	for full := true; full; {
		page, err := heads(ctx, r.planner, nil, last, r.page)
		if err != nil {
			return err
		}
		for _, h := range page {
			last, events, next.heads = h.stream, events+h.version, append(next.heads, h)
			if events < r.pieceEvents && int64(len(next.heads)) < r.pieceStreams {
				continue
			}
			next.to = last
			if err := emit(next); err != nil {
				return err
			}
			next, events = piece{after: last, version: math.MaxInt64}, 0
		}
		full = len(page) == r.page
	}
	if err := r.planner.QueryRow(ctx, "select greatest($1, max(stream)) from events", last).Scan(&end); err != nil {
		return fmt.Errorf("plan the audit: %w", err)
	}
	next.to = end
	return emit(next)
}

// planNamed emits a piece for the stream of the keys, and for each ledger in scope.
func (r *run) planNamed(ctx context.Context, emit func(piece) error) error {
	names := r.names()
	found, err := heads(ctx, r.planner, names, "", len(names))
	if err != nil {
		return err
	}
	byName := make(map[string]head, len(found))
	for _, h := range found {
		byName[h.stream] = h
	}
	for _, name := range names {
		h, ok := byName[name]
		if !ok {
			h = head{stream: name, version: noHead}
		}
		if err := emit(piece{after: name, to: name, heads: []head{h}}); err != nil {
			return err
		}
	}
	return nil
}

// names returns the streams in scope, or nil for all.
func (r *run) names() (names []string) {
	if r.scope.AllStreams {
		return nil
	}
	for _, id := range r.scope.Accounts {
		names = append(names, fold.Credit.Stream(id).String())
	}
	return append(names, fold.LedgerKeys.Stream(credit.LedgerKeysID).String())
}

func heads(ctx context.Context, tx pgx.Tx, names []string, after string, limit int) ([]head, error) {
	rows, err := tx.Query(ctx, headsSQL, names, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the heads of streams: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h head, err error) {
		var chain []byte
		s := &h.snapshot
		err = row.Scan(&h.stream, &h.version, &chain, &s.version, &s.state, &s.chain, &s.mac)
		if err == nil && len(chain) != len(h.chain) {
			err = fmt.Errorf("the chain of %s has %d bytes", h.stream, len(chain))
		}
		copy(h.chain[:], chain)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the heads of streams: %w", err)
	}
	return found, nil
}

// accountOf returns the account of a credit stream.
func accountOf(stream string) string {
	_, id, _ := strings.Cut(stream, "/")
	return id
}
