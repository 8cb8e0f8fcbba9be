package deliveries

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The limits of the attempts that run at the same time.
const (
	// PerTarget bounds the attempts to one target over all nodes.
	PerTarget = 4
	// PerAccount bounds the attempts of one account on one node. An account has at most 10
	// endpoints, and any number of hosts that its analyses name.
	PerAccount = 20
	// reserve bounds the attempts of one account to a quarter of the free places of a node, at least one.
	// Without it 13 accounts whose servers took 9.8 s for a 2xx response had all 256 places, and the
	// deliveries of others came 13 s late (p50). A quarter costs 7% of the deliveries a second, an eighth
	// 16% (5 and 4 pairs of BenchmarkWebhookDeliveries).
	reserve = 4
	// failing is the number of failures in a row after which a target has one place on each node,
	// so that many servers that hang do not take all places of a node.
	failing = 10
)

// soon is the pause before another look at turns that were locked. They are locked for a millisecond.
const soon = 3 * time.Millisecond

// Claimed is a delivery whose next attempt this node may make.
type Claimed struct {
	EventID, Target, DeliveryID, AccountID string
	EventType, ResourceID                  string
	// Position is that of the event in the log, or 0. CorrelationID and RequestID are those of its
	// metadata.
	Position                 int64
	CorrelationID, RequestID string
	// URL is the address of a target that is not an endpoint.
	URL string
	// Attempt is the number of the attempt, from 1. Step is its place in the schedule, from 0.
	Attempt, Step int
	// Due is when the attempt was due, and CreatedAt when the delivery was planned.
	Due, CreatedAt time.Time
	// Body is nil when the resource of the event was deleted.
	Body []byte
}

const (
	// dueTurns are the turns that are due and have a free place on this node.
	dueTurns = `
  from webhook_turns t
 cross join (select greatest(1, $4::integer / greatest(1, count(*)))::integer as places from living_nodes) s
  left join (select target, count(*) as n from webhook_queue where claimed_by = $1 group by target) own on own.target = t.target
  left join (select account_id, count(*) as n from webhook_queue where claimed_by = $1 group by account_id) account on account.account_id = t.account_id
 where t.next_due <= $2
   and coalesce(own.n, 0) < case when t.failures >= $6 then 1 else s.places end
   and coalesce(account.n, 0) < $5
   and exists (select from living_nodes where incarnation = $1)`

	// takeTurnsSQL locks due turns.
	takeTurnsSQL = "select t.target, s.places" + dueTurns + ` order by t.last_turn, t.target limit $3 for update of t skip locked`
	// skippedSQL reports whether another transaction had locked due turns.
	skippedSQL = "select exists (select" + dueTurns + " and t.target <> all($3))"

	// claimSQL claims deliveries of locked turns. It must be a statement of its own: its snapshot
	// must have the claims of all earlier holders of these locks.
	claimSQL = `
with turn as (
	select t.target, t.last_turn,
	       greatest(0, least($5 - held.n, case when t.failures >= $7 then 1 else $8 end - held.own)) as free
	  from unnest($4::text[]) as locked(target)
	  join webhook_turns t on t.target = locked.target
	 cross join lateral (select count(*) as n, count(*) filter (where claimed_by = $1) as own
	                       from webhook_queue where target = t.target and claimed_by is not null) as held
), candidate as (
	select q.event_id, q.target, q.account_id, turn.last_turn, row_number() over (partition by q.target order by q.due, q.event_id) as place
	  from turn
	 cross join lateral (select * from webhook_queue where target = turn.target and claimed_by is null and due <= $2
	                      order by due, event_id limit turn.free) as q
), ranked as (
	select c.*, row_number() over (partition by c.account_id order by c.place, c.last_turn)
	          + (select count(*) from webhook_queue where claimed_by = $1 and account_id = c.account_id) as account_place
	  from candidate c
), ordered as (
	select r.*, row_number() over (order by r.account_place, r.place, r.last_turn) as n from ranked r
), chosen as (
	select event_id, target from ordered where account_place <= least($6, greatest(1, ($3 - n + 1) / $9)) order by n limit $3
), claimed as (
	update webhook_queue q set claimed_by = $1, claimed_at = $2
	  from chosen
	 where q.event_id = chosen.event_id and q.target = chosen.target and q.claimed_by is null
	returning q.*
)
select c.event_id, c.target, c.delivery_id, c.account_id, coalesce(d.event_type, ''), coalesce(d.resource_id, ''),
       coalesce(d.position, 0), coalesce(e.meta ->> 'correlation_id', ''), coalesce(e.meta ->> 'request_id', ''), coalesce(d.url, ''), c.attempt, c.step, c.due, coalesce(d.created_at, c.due), b.body
  from claimed c
  left join lateral (select * from webhook_deliveries where event_id = c.event_id and target = c.target limit 1) as d on true
  left join lateral (select body from webhook_bodies where event_id = c.event_id limit 1) as b on true
  left join lateral (select meta::json as meta from events where position = d.position limit 1) as e on true`

	// endTurnsSQL keeps the invariant of the turns.
	endTurnsSQL = `
update webhook_turns t
   set last_turn = $2, next_due = ` + nextDueSQL + `
 where t.target = any($1)`

	// nextDueSQL is when the target t may have its next turn, with the limit of a target as $3.
	nextDueSQL = `case
	when (select count(*) from webhook_queue where target = t.target and claimed_by is not null) >= $3 then 'infinity'
	else coalesce((select due from webhook_queue where target = t.target and claimed_by is null order by due, event_id limit 1), 'infinity')
	end`

	wakeSQL = "select min(next_due) from webhook_turns where next_due > $1 and next_due < 'infinity'"
)

// Claim claims at most free due deliveries for an incarnation of this node. next is when another
// one is due, or the zero time when none is known. It is soon when further turns are due, or when other
// transactions had locked due turns: another node claims from them, and may leave something. All other
// deliveries that are due and were not returned wait for a place.
func (s *Store) Claim(ctx context.Context, incarnation string, free int, now time.Time) (claimed []Claimed, next time.Time, err error) {
	err = s.short(ctx, func(tx pgx.Tx) (err error) {
		claimed, next, err = claim(ctx, tx, incarnation, free, now)
		return err
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("claim deliveries: %w", err)
	}
	return claimed, next, nil
}

func claim(ctx context.Context, tx pgx.Tx, incarnation string, free int, now time.Time) (claimed []Claimed, next time.Time, err error) {
	share := min(PerAccount, max(1, free/reserve))
	rows, err := tx.Query(ctx, takeTurnsSQL, incarnation, now, free, PerTarget, share, failing)
	if err != nil {
		return nil, next, err
	}
	targets := []string{}
	var target string
	var places int
	if _, err := pgx.ForEachRow(rows, []any{&target, &places}, func() error {
		targets = append(targets, target)
		return nil
	}); err != nil {
		return nil, next, err
	}
	batch := &pgx.Batch{}
	skipped := false
	if len(targets) < free {
		batch.Queue(skippedSQL, incarnation, now, targets, PerTarget, share, failing).QueryRow(func(row pgx.Row) error {
			return row.Scan(&skipped)
		})
	}
	if len(targets) > 0 {
		batch.Queue(claimSQL, incarnation, now, free, targets, PerTarget, PerAccount, failing, places, reserve).Query(func(rows pgx.Rows) (err error) {
			claimed, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Claimed])
			return err
		})
		batch.Queue(endTurnsSQL, targets, now, PerTarget)
	}
	batch.Queue(wakeSQL, now).QueryRow(func(row pgx.Row) error {
		var at *time.Time
		err := row.Scan(&at)
		if at != nil {
			next = *at
		}
		return err
	})
	err = tx.SendBatch(ctx, batch).Close()
	if skipped || len(targets) == free && len(claimed) < free {
		next = now.Add(soon)
	}
	return claimed, next, err
}
