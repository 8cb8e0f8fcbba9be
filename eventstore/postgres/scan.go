package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Stored is an event as the log keeps it, for tools that must show even what the
// program cannot decode.
type Stored struct {
	Position  int64  `json:"position"`
	Stream    string `json:"stream"`
	Version   int64  `json:"version"`
	Type      string `json:"type"`
	AccountID string `json:"account_id"`
	// Data and Meta are the stored bytes.
	Data       json.RawMessage `json:"data"`
	Meta       json.RawMessage `json:"meta"`
	RecordedAt time.Time       `json:"recorded_at"`
	// Chain is that of the stream up to this event, in hexadecimal.
	Chain string `json:"chain"`
}

// ParsedMeta is the metadata with its account; what cannot be read is left out.
func (s Stored) ParsedMeta() eventstore.Meta {
	meta, err := codec.UnmarshalMeta(s.AccountID, s.Meta)
	if err != nil {
		return eventstore.Meta{AccountID: s.AccountID}
	}
	return meta
}

// Follows reports whether the stored chain is the one that follows from the event as it
// is stored and the one before it in the stream, nil for the first. Error: a chain or
// the stream's name cannot be read.
func (s Stored) Follows(before *Stored) (bool, error) {
	stream, err := codec.ParseStreamID(s.Stream)
	if err != nil {
		return false, err
	}
	var link eventstore.Chain
	if before != nil {
		if n, err := hex.Decode(link[:], []byte(before.Chain)); err != nil || n != len(link) {
			return false, fmt.Errorf("%q is no chain: %w", before.Chain, err)
		}
	}
	link = codec.Link(link, codec.Encoded{
		Stream: stream, Version: s.Version, Type: s.Type, Data: s.Data, AccountID: s.AccountID, Meta: s.Meta,
	})
	return link.String() == s.Chain, nil
}

// Filter selects events. Its zero value is every event; all conditions must hold.
type Filter struct {
	// Streams are names, or patterns with * for any text; one of them must fit.
	Streams []string
	// Types are stored types or patterns, likewise. A type without a version fits all of
	// its versions.
	Types     []string
	AccountID string
	// Since and Until bound the time of recording, both included.
	Since, Until time.Time
	// After and Before bound the position, both excluded; 0 is no bound.
	After, Before int64
	// AfterVersion bounds the version in the stream, excluded.
	AfterVersion int64
	// Correlations are correlation ids; one of them must fit.
	Correlations []string
	// RequestID is the request id or the correlation id.
	RequestID string
	// Mentions is text that stands somewhere in the payload, such as an id.
	Mentions string
}

// conditions is the filter in SQL, beginning with "true", and its arguments.
func (f Filter) conditions() (sql string, args []any) {
	var b strings.Builder
	b.WriteString("true")
	add := func(condition string, arg any) {
		args = append(args, arg)
		fmt.Fprintf(&b, " and "+condition, len(args))
	}
	names := func(all []string, plain, pattern string) {
		var exact, globs []string
		for _, n := range all {
			if strings.Contains(n, "*") {
				globs = append(globs, likePattern(n))
			} else {
				exact = append(exact, n)
			}
		}
		switch {
		case len(all) == 0:
		case len(globs) == 0: // alone, so that an index can serve it
			add(plain, exact)
		default:
			args = append(args, exact, globs)
			fmt.Fprintf(&b, " and ("+plain+" or "+pattern+")", len(args)-1, len(args))
		}
	}
	names(f.Streams, "stream = any($%[1]d)", "stream like any($%[2]d)")
	names(f.Types, "(type = any($%[1]d) or split_part(type, '@', 1) = any($%[1]d))", "type like any($%[2]d)")
	if f.AccountID != "" {
		add("account_id = $%d", f.AccountID)
	}
	if !f.Since.IsZero() {
		add("recorded_at >= $%d", f.Since)
	}
	if !f.Until.IsZero() {
		add("recorded_at <= $%d", f.Until)
	}
	if f.After > 0 {
		add("position > $%d", f.After)
	}
	if f.Before > 0 {
		add("position < $%d", f.Before)
	}
	if f.AfterVersion > 0 {
		add("version > $%d", f.AfterVersion)
	}
	if len(f.Correlations) > 0 {
		add("coalesce(meta->>'correlation_id', meta->>'request_id') = any($%d)", f.Correlations)
	}
	if f.RequestID != "" {
		add("$%[1]d in (meta->>'request_id', meta->>'correlation_id')", f.RequestID)
	}
	if f.Mentions != "" {
		add("strpos(data::text, $%d) > 0", f.Mentions)
	}
	return b.String(), args
}

// likePattern turns a pattern with * into one of LIKE.
func likePattern(glob string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%").Replace(glob)
}

// scanTimeout bounds a scan of the log, which may have to look at all of it.
const scanTimeout = 10 * time.Minute

// Scan returns up to limit events that fit, the first of them or, with newest, the
// last, always in the order of positions. It does not wait for open writers: whoever
// goes on from what it returned bounds it by Settled.
func (s *Store) Scan(ctx context.Context, f Filter, limit int, newest bool) ([]Stored, error) {
	where, args := f.conditions()
	order := ""
	if newest {
		order = " desc"
	}
	sql := fmt.Sprintf("select "+columns+" from events where %s order by position%s limit %d", where, order, limit)
	var found []Stored
	err := s.inSnapshot(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, scanStored)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scan the log: %w", err)
	}
	if newest {
		for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
			found[i], found[j] = found[j], found[i]
		}
	}
	return found, nil
}

func scanStored(row pgx.CollectableRow) (Stored, error) {
	var s Stored
	var chain []byte
	err := row.Scan(&s.Position, &s.Stream, &s.Version, &s.Type, &s.AccountID, &s.Data, &s.Meta, &s.RecordedAt, &chain)
	s.RecordedAt, s.Chain = s.RecordedAt.UTC(), hex.EncodeToString(chain)
	return s, err
}

// inSnapshot runs do in one read-only snapshot of the log, with more time than a
// statement of the service gets.
func (s *Store) inSnapshot(ctx context.Context, do func(tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, fmt.Sprintf("set local statement_timeout = %d", scanTimeout.Milliseconds())); err != nil {
		return err
	}
	return do(tx)
}
