package resources

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/queue"
	"vqa/domain/stream"
	"vqa/eventstore/fold"
	"vqa/projections"
)

var liveStreams = projections.Model[stream.State, stream.Event]{
	Name: "live_streams", Of: fold.Stream, Revision: 1, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "livemode", Type: "boolean"}, {Name: "status", Type: "text"},
		{Name: "node", Type: "text"}, {Name: "created_at", Type: "timestamptz"},
	},
	States: func(id string, s stream.State) []projections.Row {
		return []projections.Row{{
			ID: id, Values: []any{s.AccountID, s.Livemode, string(s.Status), s.Node, &s.CreatedAt}, Doc: s,
		}}
	},
}

// Stream is a live stream with its place in the queue for slots.
type Stream struct {
	stream.State
	// QueuePosition is 1 for the stream that gets the next slot. It is nil when the stream has one.
	QueuePosition *int
	// EstimatedStartS is the number of seconds until the stream gets a slot. It is nil when the stream
	// has one, or when the lengths of earlier streams are not known.
	EstimatedStartS *int
}

// Stream returns a stream of the tenant, or resource_not_found.
func (r *Reader) Stream(ctx context.Context, t Tenant, id string) (Stream, error) {
	s, err := one[stream.State](ctx, r.pool,
		"select doc from live_streams where id = $1 and account_id = $2 and livemode = $3 and ($4 = '' or "+createdBy(fold.Stream, "$4")+")",
		id, t.AccountID, t.Livemode, t.TokenID)
	if err != nil {
		return Stream{}, notFound(err, id)
	}
	list, err := r.withPlaces(ctx, []stream.State{s})
	if err != nil {
		return Stream{}, err
	}
	return list[0], nil
}

// Streams lists the tenant's streams, newest first, and whether there are more. An empty status matches all.
func (r *Reader) Streams(ctx context.Context, t Tenant, status stream.Status, p projections.Page) ([]Stream, bool, error) {
	q := t.list("live_streams", fold.Stream)
	if status != "" {
		q = q.Where("status = ?", string(status))
	}
	states, more, err := projections.Rows[stream.State](ctx, r.pool, q, p)
	if err != nil {
		return nil, false, err
	}
	list, err := r.withPlaces(ctx, states)
	return list, more, err
}

// StreamByID returns a stream of any account. Error: resource_not_found.
func (r *Reader) StreamByID(ctx context.Context, id string) (stream.State, error) {
	s, err := one[stream.State](ctx, r.pool, "select doc from live_streams where id = $1", id)
	return s, notFound(err, id)
}

// ActiveStream returns the stream of an account and mode that has not ended, or "".
func (r *Reader) ActiveStream(ctx context.Context, accountID string, livemode bool) (id string, err error) {
	err = r.pool.QueryRow(ctx, `
		select coalesce(max(id), '') from live_streams
		where account_id = $1 and livemode = $2 and status <> 'ended'`, accountID, livemode).Scan(&id)
	return id, err
}

// QueuedStreams counts the streams of a mode that wait for a slot.
func (r *Reader) QueuedStreams(ctx context.Context, livemode bool) (n int, err error) {
	err = r.pool.QueryRow(ctx, "select count(*) from live_streams where status = 'queued' and livemode = $1", livemode).Scan(&n)
	return n, err
}

// ActiveStreams returns the streams that have not ended, oldest first, at most 500.
func (r *Reader) ActiveStreams(ctx context.Context) ([]stream.State, error) {
	rows, err := r.pool.Query(ctx, `
		select doc from live_streams where status <> 'ended' order by created_at, id limit $1`, sweepLimit)
	return documents[stream.State](rows, err)
}

// SlotIn estimates the seconds until the first queued stream of a mode gets a slot. known is false when there is no
// estimate.
func (r *Reader) SlotIn(ctx context.Context, livemode bool) (seconds int, known bool) {
	line, err := r.streamLine(ctx, livemode)
	if err != nil {
		return 0, false
	}
	in := line.forecast.In(1)
	if in == nil {
		return 0, false
	}
	return *in, true
}

// withPlaces adds the position and the estimate to each stream that waits.
func (r *Reader) withPlaces(ctx context.Context, states []stream.State) ([]Stream, error) {
	list := make([]Stream, len(states))
	queued := false
	for i, s := range states {
		list[i].State = s
		queued = queued || s.Status == stream.Queued
	}
	if !queued {
		return list, nil
	}
	lines := map[bool]streamLine{}
	for i := range list {
		if s := &list[i]; s.Status == stream.Queued {
			line, read := lines[s.Livemode]
			if !read {
				var err error
				if line, err = r.streamLine(ctx, s.Livemode); err != nil {
					return nil, err
				}
				lines[s.Livemode] = line
			}
			place := line.place(s.ID)
			s.QueuePosition, s.EstimatedStartS = new(place), line.forecast.In(place)
		}
	}
	return list, nil
}

// streamLine is the queue of a mode for slots.
type streamLine struct {
	waiting  []string
	forecast queue.Sessions
}

// place is the position of a stream, from 1. A stream that was created after the line was read is the last.
func (l streamLine) place(id string) int {
	for i, waiting := range l.waiting {
		if waiting == id {
			return i + 1
		}
	}
	return len(l.waiting) + 1
}

// latestSessions is the number of ended streams whose lengths make the estimate.
const latestSessions = 32

// streamLine reads the queued streams, the times that running streams have had their slot, and those of earlier ones.
// Live streams may use every slot, and go first. Those of test mode have a part of the slots (queue.TestSlots).
func (r *Reader) streamLine(ctx context.Context, livemode bool) (l streamLine, err error) {
	rows, err := r.pool.Query(ctx, "select doc from live_streams where status <> 'ended' and (livemode = $1 or $1) order by created_at, id", livemode)
	active, err := documents[stream.State](rows, err)
	if err != nil {
		return l, fmt.Errorf("read the queue for live streams: %w", err)
	}
	now := time.Time{}
	if r.Estimator != nil {
		now = r.Estimator.Now()
		l.forecast.Slots = r.Estimator.StreamSlots(ctx, livemode)
	}
	for _, s := range active {
		switch {
		case s.Status == stream.Queued && s.Livemode != livemode:
		case s.Status == stream.Queued:
			l.waiting = append(l.waiting, s.ID)
		case s.ReadyAt != nil:
			l.forecast.Running = append(l.forecast.Running, now.Sub(*s.ReadyAt))
		}
	}
	rows, err = r.pool.Query(ctx, `
		select extract(epoch from d.ended_at - d.ready_at)::float8 from live_streams s
		cross join lateral json_to_record(s.doc) as d (ready_at timestamptz, ended_at timestamptz)
		where s.status = 'ended' and s.livemode = $2 and d.ready_at is not null order by s.created_at desc, s.id desc limit $1`, latestSessions, livemode)
	if err != nil {
		return l, fmt.Errorf("read the lengths of live streams: %w", err)
	}
	l.forecast.Ended, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (time.Duration, error) {
		var seconds float64
		err := row.Scan(&seconds)
		return time.Duration(seconds * float64(time.Second)), err
	})
	return l, err
}
