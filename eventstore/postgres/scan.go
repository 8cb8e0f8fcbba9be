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

// Stored is an event in its stored form, for tools that must show events which this program cannot
// decode.
type Stored struct {
	Position  int64  `json:"position"`
	Stream    string `json:"stream"`
	Version   int64  `json:"version"`
	Type      string `json:"type"`
	AccountID string `json:"account_id"`
	// Data and Meta have the stored bytes.
	Data       json.RawMessage `json:"data"`
	Meta       json.RawMessage `json:"meta"`
	RecordedAt time.Time       `json:"recorded_at"`
	// Chain is the chain of the stream up to this event, in hexadecimal.
	Chain string `json:"chain"`
}

// ParsedMeta returns the metadata with its account. It has only the account when Meta cannot be
// decoded.
func (s Stored) ParsedMeta() eventstore.Meta {
	meta, err := codec.UnmarshalMeta(s.AccountID, s.Meta)
	if err != nil {
		return eventstore.Meta{AccountID: s.AccountID}
	}
	return meta
}

// Follows reports whether the stored chain matches the stored event and the previous event of the
// stream. before is nil for the first event. Error: a chain or the stream's name cannot be parsed.
func (s Stored) Follows(before *Stored) (bool, error) {
	stream, err := codec.ParseStreamID(s.Stream)
	if err != nil {
		return false, err
	}
	var link eventstore.Chain
	if before != nil {
		if n, err := hex.Decode(link[:], []byte(before.Chain)); err != nil || n != len(link) {
			return false, fmt.Errorf("%q is not a chain: %w", before.Chain, err)
		}
	}
	link = codec.Link(link, codec.Encoded{
		Stream: stream, Version: s.Version, Type: s.Type, Data: s.Data, AccountID: s.AccountID, Meta: s.Meta,
	})
	return link.String() == s.Chain, nil
}

// Filter selects events. All conditions must hold. The zero value selects every event.
type Filter struct {
	// Streams has names, or patterns with * for any text. One of them must match.
	Streams []string
	// Types has stored types or patterns with *. One of them must match. A type without a
	// version matches all of its versions.
	Types     []string
	AccountID string
	// Since and Until are inclusive bounds of the time of recording.
	Since, Until time.Time
	// After and Before are exclusive bounds of the position. 0 means no bound.
	After, Before int64
	// AfterVersion is an exclusive lower bound of the version in the stream.
	AfterVersion int64
	// Correlations has correlation ids. One of them must match.
	Correlations []string
	// RequestID must equal the request id or the correlation id.
	RequestID string
	// Mentions is a text that the payload must contain, such as an id.
	Mentions string
}

// conditions returns the filter in SQL, beginning with "true", and its arguments.
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
		case len(globs) == 0: // without "or like", so that an index can be used
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

// likePattern converts a pattern with * to a pattern of LIKE.
func likePattern(glob string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%").Replace(glob)
}

// scanTimeout bounds a scan of the log. A scan may read the whole log.
const scanTimeout = 10 * time.Minute

// Scan returns up to limit matching events in the order of positions: the first ones or, with
// newest, the last ones. It does not wait for open writers. A caller that continues after the last
// returned position must not go beyond Settled, or it may skip events.
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
	var chain, mac []byte
	err := row.Scan(&s.Position, &s.Stream, &s.Version, &s.Type, &s.AccountID, &s.Data, &s.Meta, &s.RecordedAt, &chain, &mac)
	s.RecordedAt, s.Chain = s.RecordedAt.UTC(), hex.EncodeToString(chain)
	return s, err
}

// inSnapshot runs do in one read-only snapshot of the log, with a timeout of scanTimeout for a
// statement.
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
