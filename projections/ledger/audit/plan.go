package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// sizes are the sizes of the pieces that a reader reads at once.
type sizes struct {
	// A range of streams ends when it has this many events or streams.
	rangeEvents, rangeStreams int64
	// Ledgers with more events than part are read in parts of that many events.
	part int64
	// page is the number of heads that one statement reads.
	page int
}

var usualSizes = sizes{rangeEvents: 4096, rangeStreams: 512, part: 8192, page: 1024}

// head is a row of the table streams.
type head struct {
	stream  string
	version int64
	chain   eventstore.Chain
}

// noHead is the version in the head of a stream that has no row.
const noHead = -1

// piece is the work of one reader: a range of short streams, or a part of a long one.
type piece struct {
	// The streams after from and before to, or up to it. The range includes streams without
	// a head.
	from, to  string
	including bool
	heads     []head

	part *part
}

// part is a range of versions of one stream.
type part struct {
	head
	// first is the first version. end is the version after the last one, or 0 for all later
	// versions.
	first, end int64
	// before and after pass the verified ledger from part to part. They are nil at the ends
	// of the stream. Each channel carries one value and has room for it.
	before, after chan *account
}

// whole emits the parts of one stream.
func (z sizes) whole(h head, emit func(piece) error) error {
	var before chan *account
	for first := int64(1); ; first += z.part {
		p := part{head: h, first: first, before: before}
		if first+z.part <= h.version {
			p.end, p.after = first+z.part, make(chan *account, 1)
		}
		if err := emit(piece{part: &p}); err != nil || p.end == 0 {
			return err
		}
		before = p.after
	}
}

// category emits pieces that together contain every event of a category of streams, in the
// order of the names. Streams with more than longest events are read in parts.
func (z sizes) category(ctx context.Context, tx pgx.Tx, category string, longest int64, emit func(piece) error) error {
	first, end := category+"/", category+"0" // '0' comes after '/'
	next := piece{from: first}
	var rows int64
	flush := func(to string, including bool) error {
		next.to, next.including = to, including
		done := next
		next, rows = piece{from: to}, 0
		return emit(done)
	}
	last := first
	for {
		page, err := headsPage(ctx, tx, last, first, z.page)
		if err != nil {
			return err
		}
		for _, h := range page {
			last = h.stream
			if h.version > longest {
				if err := flush(h.stream, false); err != nil {
					return err
				}
				if err := z.whole(h, emit); err != nil {
					return err
				}
				continue
			}
			next.heads, rows = append(next.heads, h), rows+h.version
			if rows >= z.rangeEvents || int64(len(next.heads)) >= z.rangeStreams {
				if err := flush(h.stream, true); err != nil {
					return err
				}
			}
		}
		if len(page) < z.page {
			break
		}
	}
	// In a collation that sorts '0' elsewhere, the streams with a head are still read.
	if err := tx.QueryRow(ctx, "select greatest($1, $2::text)", last, end).Scan(&end); err != nil {
		return fmt.Errorf("plan the audit: %w", err)
	}
	return flush(end, true)
}

const headColumns = "select stream, version, chain from streams where "

func headsPage(ctx context.Context, tx pgx.Tx, after, prefix string, limit int) ([]head, error) {
	return heads(ctx, tx, headColumns+"stream > $1 and starts_with(stream, $2) order by stream limit $3", after, prefix, limit)
}

// headsOf returns the heads of named streams, in the given order. A stream without a row
// has the version noHead.
func headsOf(ctx context.Context, tx pgx.Tx, names []string) ([]head, error) {
	found, err := heads(ctx, tx, headColumns+"stream = any($1)", names)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]head, len(found))
	for _, h := range found {
		byName[h.stream] = h
	}
	all := make([]head, len(names))
	for i, name := range names {
		all[i] = head{stream: name, version: noHead}
		if h, ok := byName[name]; ok {
			all[i] = h
		}
	}
	return all, nil
}

func heads(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]head, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read the heads of streams: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (head, error) {
		var h head
		var chain []byte
		err := row.Scan(&h.stream, &h.version, &chain)
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

// strangers returns the accounts that only read models know.
func strangers(ctx context.Context, tx pgx.Tx, tables []*table) ([]string, error) {
	var selects []string
	for _, t := range tables {
		selects = append(selects, fmt.Sprintf("select m.%[2]s from %[1]s m where not exists (select from streams s where s.stream = 'credit/' || m.%[2]s)",
			t.model.Table(), t.model.Account()))
	}
	rows, err := tx.Query(ctx, strings.Join(selects, "\nunion "))
	if err != nil {
		return nil, fmt.Errorf("find accounts without a ledger: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find accounts without a ledger: %w", err)
	}
	return found, nil
}

// otherCategories returns the categories of all streams that are not part of a ledger.
func otherCategories(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `select split_part(stream, '/', 1) from streams union select split_part(stream, '/', 1) from events order by 1`)
	if err != nil {
		return nil, fmt.Errorf("list the categories of streams: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the categories of streams: %w", err)
	}
	var others []string
	for _, c := range all {
		if c != fold.Credit.Category() && c != fold.LedgerKeys.Category() {
			others = append(others, c)
		}
	}
	return others, nil
}

// accountOf returns the account of a credit stream.
func accountOf(stream string) string {
	_, id, _ := strings.Cut(stream, "/")
	return id
}
