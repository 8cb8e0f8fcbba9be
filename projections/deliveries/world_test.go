package deliveries_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/id"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections/deliveries"
)

// world is a database with one node and its deliveries.
type world struct {
	*testing.T
	pool  *pgxpool.Pool
	store *deliveries.Store
	ids   *id.Source
	// now is the time that the world passes to the store.
	now time.Time
}

const nodeA, nodeB = "node_a@1", "node_b@1"

func open(t *testing.T) *world {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w := &world{T: t, pool: pool, store: deliveries.New(pool), now: time.Now().UTC().Truncate(time.Millisecond)}
	w.ids = id.NewSource(func() time.Time { return w.now }, rand.Reader)
	w.join("node_a")
	return w
}

// join makes a node alive for an hour.
func (w *world) join(name string) {
	w.Helper()
	w.exec(`insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until)
		values ($1, $1, 1, clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 hour')`, name)
}

// kill ends the lease of a node.
func (w *world) kill(name string) {
	w.Helper()
	w.exec("update nodes set lease_until = clock_timestamp(), renewed_at = clock_timestamp() where name = $1", name)
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), sql, args...)
	require.NoError(w, err)
}

func (w *world) count(sql string, args ...any) (n int) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(), sql, args...).Scan(&n))
	return n
}

func (w *world) event(account string) deliveries.Event {
	return deliveries.Event{
		ID: w.ids.New(id.Event), Type: "video.ready", AccountID: account, Livemode: true, ResourceID: w.ids.New(id.Video),
		Position: 7, At: w.now, Body: []byte(`{"id":"evt"}`),
	}
}

func (w *world) target(key string) deliveries.Target {
	t := deliveries.Target{Key: key, DeliveryID: w.ids.New(id.Delivery)}
	if key[:3] == "ov_" {
		t.URL = "https://example.com/" + key
	}
	return t
}

// plan plans n events of an account for a target.
func (w *world) plan(account, target string, n int) {
	w.Helper()
	for range n {
		added, err := w.store.Plan(w.Context(), w.event(account), []deliveries.Target{w.target(target)}, w.now)
		require.NoError(w, err)
		require.Equal(w, 1, added)
	}
}

// flood plans n events for a target by SQL alone.
func (w *world) flood(account, target string, n int) {
	w.Helper()
	w.exec(`insert into webhook_queue (event_id, target, delivery_id, account_id, due)
		select webhook_event_bound($3) || lpad(g::text, 16, '0'), $2, 'whd_' || $2 || '.' || g, $1, $3::timestamptz - interval '1 hour'
		  from generate_series(1, $4::integer) as g`, account, target, w.now, n)
	w.exec(`insert into webhook_deliveries (event_id, target, id, account_id, livemode, event_type, resource_id, position, status, created_at)
		select event_id, target, delivery_id, account_id, true, 'video.ready', 'video_1', 7, 'pending', $2::timestamptz
		  from webhook_queue where target = $1`, target, w.now)
	w.exec(`insert into webhook_turns (target, account_id, next_due) values ($2, $1, $3::timestamptz - interval '1 hour')
		on conflict (target) do update set next_due = excluded.next_due`, account, target, w.now)
}

func (w *world) claim(node string, free int) []deliveries.Claimed {
	w.Helper()
	got, _, err := w.store.Claim(w.Context(), node, free, w.now)
	require.NoError(w, err)
	return got
}

func byTarget(list []deliveries.Claimed) map[string]int {
	out := map[string]int{}
	for _, c := range list {
		out[c.Target]++
	}
	return out
}

// end records the results of claims and refreshes the turns.
func (w *world) end(node string, claims []deliveries.Claimed, result func(*deliveries.Result)) (accepted int) {
	w.Helper()
	results := make([]deliveries.Result, len(claims))
	for i, c := range claims {
		results[i] = deliveries.Result{
			EventID: c.EventID, Target: c.Target, DeliveryID: c.DeliveryID, Attempt: c.Attempt, Sent: true, StartedAt: w.now, DurationUS: 1500,
		}
		result(&results[i])
	}
	accepted, err := w.store.Record(w.Context(), node, results)
	require.NoError(w, err)
	skipped, err := w.store.Refresh(w.Context(), deliveries.Turns(results))
	require.NoError(w, err)
	require.Empty(w, skipped)
	return accepted
}

func delivered(r *deliveries.Result) { r.Status, r.Delivered = new(204), true }

func (w *world) failed(after time.Duration) func(*deliveries.Result) {
	return func(r *deliveries.Result) {
		r.Status, r.Error, r.RetryAt = new(500), new("the server responded with status 500"), new(w.now.Add(after))
	}
}

func dead(reason string) func(*deliveries.Result) {
	return func(r *deliveries.Result) { r.Status, r.DeadReason = new(500), new(reason) }
}
