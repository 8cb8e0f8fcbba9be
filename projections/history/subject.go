package history

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
)

// Reader explains the log of a database.
type Reader struct {
	pool  *pgxpool.Pool
	log   *postgres.Store
	codec *codec.Codec
}

// NewReader returns a reader of the log in a pool's database.
func NewReader(pool *pgxpool.Pool, log *postgres.Store, c *codec.Codec) *Reader {
	return &Reader{pool: pool, log: log, codec: c}
}

// Subject is the result of resolving an id.
type Subject struct {
	ID string
	// Streams are the streams of the subject, the main one first. It is empty for a request
	// or a position.
	Streams []eventstore.StreamID
	// Version is the version of the one event in the first stream that the id names, or 0.
	Version int64
	// MemberID is the API key or the webhook endpoint in a stream of its account, or empty.
	MemberID string
	// Position is the position of the event that the id names, or 0.
	Position int64
}

// UnknownError means that an id names nothing in the log.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the log has no event of %q; check the id", e.ID)
}

// Resolve resolves an id: the name of a stream ("credit/acct_…"), a position, or a prefixed
// id. It checks the existence of streams only when it needs them to resolve the id. Error:
// *UnknownError.
func (r *Reader) Resolve(ctx context.Context, of string) (Subject, error) {
	if strings.Contains(of, "/") {
		stream, err := codec.ParseStreamID(of)
		if err != nil {
			return Subject{}, err
		}
		if _, known := fold.Named(stream.Category); !known {
			return Subject{}, fmt.Errorf("unknown stream category %q; known categories: %v", stream.Category, fold.Names())
		}
		return Subject{ID: of, Streams: []eventstore.StreamID{stream}}, nil
	}
	if position, err := strconv.ParseInt(of, 10, 64); err == nil && position > 0 {
		return Subject{ID: of, Position: position}, nil
	}
	prefix, _, _ := strings.Cut(of, "_")
	switch id.Prefix(prefix) {
	case id.Key:
		return r.byRow(ctx, of, "select account_id, 0::bigint from api_keys where id = $1", func(account string, _ int64) Subject {
			return Subject{ID: of, MemberID: of, Streams: []eventstore.StreamID{fold.Account.Stream(account)}}
		})
	case id.Transaction:
		s, err := r.byRow(ctx, of, "select account_id, version from credit_transactions where id = $1", func(account string, version int64) Subject {
			return Subject{ID: of, Version: version, Streams: []eventstore.StreamID{fold.Credit.Stream(account)}}
		})
		var unknown *UnknownError
		if errors.As(err, &unknown) {
			return r.mentioned(ctx, of) // the id of a hold
		}
		return s, err
	case id.Webhook:
		return r.endpoint(ctx, of)
	case id.Batch:
		return r.mentioned(ctx, of) // the last of its analyses
	case id.Request:
		return Subject{ID: of}, nil
	default:
		streams := streamsOf(of)
		if len(streams) == 0 {
			return Subject{}, &UnknownError{of}
		}
		return Subject{ID: of, Streams: streams}, nil
	}
}

// endpoint resolves the id of a webhook endpoint to the stream of its account. The read model has no
// deleted endpoint, so its last event is searched.
func (r *Reader) endpoint(ctx context.Context, of string) (Subject, error) {
	const sql = `select id, 0::bigint from webhook_endpoints
		where exists (select from json_array_elements(doc -> 'endpoints') e where e ->> 'id' = $1)`
	s, err := r.byRow(ctx, of, sql, func(account string, _ int64) Subject {
		return Subject{ID: of, MemberID: of, Streams: []eventstore.StreamID{fold.Webhook.Stream(account)}}
	})
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		return r.mentioned(ctx, of)
	}
	return s, err
}

// byRow resolves an id with a read model.
func (r *Reader) byRow(ctx context.Context, of, sql string, subject func(account string, version int64) Subject) (Subject, error) {
	var account string
	var version int64
	switch err := r.pool.QueryRow(ctx, sql, of).Scan(&account, &version); {
	case errors.Is(err, pgx.ErrNoRows):
		return Subject{}, &UnknownError{of}
	case err != nil:
		return Subject{}, fmt.Errorf("find %s: %w", of, err)
	}
	return subject(account, version), nil
}

// mentioned resolves an id to the newest event that contains it.
func (r *Reader) mentioned(ctx context.Context, of string) (Subject, error) {
	found, err := r.search(ctx, postgres.Filter{Mentions: of})
	if err != nil {
		return Subject{}, err
	}
	if len(found) == 0 {
		return Subject{}, &UnknownError{of}
	}
	last := found[len(found)-1]
	stream, err := codec.ParseStreamID(last.Stream)
	if err != nil {
		return Subject{}, err
	}
	return Subject{ID: of, Version: last.Version, Streams: []eventstore.StreamID{stream}}, nil
}

// searchPage is the number of positions that one statement searches when the stream is not
// known.
const searchPage = 20_000

// search returns the matching events of the newest page that has any.
func (r *Reader) search(ctx context.Context, f postgres.Filter) ([]postgres.Stored, error) {
	head, err := r.log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("search the log: %w", err)
	}
	for end := head; end > 0; end -= searchPage {
		f.After, f.Before = max(0, end-searchPage), end+1
		found, err := r.log.Scan(ctx, f, maxFound, true)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// streamsOf returns the streams that an id names by its prefix, the main one first.
func streamsOf(of string) []eventstore.StreamID {
	prefix, rest, ok := strings.Cut(of, "_")
	if !ok || rest == "" {
		return nil
	}
	switch id.Prefix(prefix) {
	case id.Account:
		return []eventstore.StreamID{fold.Account.Stream(of), fold.Credit.Stream(of)}
	case id.Video:
		return []eventstore.StreamID{fold.Video.Stream(of)}
	case id.Analysis:
		return []eventstore.StreamID{fold.Analysis.Stream(of)}
	case id.Stream:
		return []eventstore.StreamID{fold.Stream.Stream(of)}
	case id.Delivery:
		return []eventstore.StreamID{fold.Delivery.Stream(of)}
	case id.Grant:
		return []eventstore.StreamID{fold.Grant.Stream(of)}
	case id.AgentClient:
		return []eventstore.StreamID{fold.AgentClient.Stream(of)}
	case id.Incident:
		return []eventstore.StreamID{fold.Incident.Stream(of)}
	default:
		return nil
	}
}
