package deliveries_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/id"
	"vqa/projections/deliveries"
)

func TestPlanAddsEachPairOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	e := w.event("acct_1")
	targets := []deliveries.Target{w.target("we_1"), w.target("ov_1")}
	for i, want := range []int{2, 0} {
		e.Body = fmt.Appendf(nil, "body %d", i)
		added, err := w.store.Plan(t.Context(), e, targets, w.now)
		require.NoError(t, err)
		require.Equal(t, want, added)
	}
	require.Equal(t, 2, w.count("select count(*) from webhook_deliveries"))
	claims := w.claim(nodeA, 100)
	require.Len(t, claims, 2)
	for _, c := range claims {
		require.Equal(t, "body 0", string(c.Body), "the body of an event never changes")
		require.Equal(t, []any{1, 0, "video.ready", int64(7), "acct_1"}, []any{c.Attempt, c.Step, c.EventType, c.Position, c.AccountID})
		require.Equal(t, c.Target == "ov_1", c.URL != "")
	}

	w.exec("delete from webhook_deliveries where target = 'we_1'")
	added, err := w.store.Plan(t.Context(), e, targets, w.now)
	require.ErrorContains(t, err, "webhook_queue_pkey", "a row of the queue without its delivery is not planned again")
	require.Zero(t, added)
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	w := open(t)
	tables := func() int {
		return w.count("select count(*) from pg_inherits where inhparent = 'webhook_deliveries'::regclass")
	}
	require.Equal(t, 5, tables())
	e := w.event("acct_1")
	e.At = w.now.AddDate(0, 0, -60)
	e.ID = id.NewSource(func() time.Time { return e.At }, rand.Reader).New(id.Event)
	added, err := w.store.Plan(t.Context(), e, []deliveries.Target{w.target("we_1")}, w.now)
	require.NoError(t, err, "the first event of a week makes its partition")
	require.Equal(t, 1, added)
	require.Equal(t, 6, tables())

	dropped, err := w.store.KeepPartitions(t.Context(), w.now)
	require.NoError(t, err)
	require.Equal(t, 3, dropped, "bodies, deliveries and attempts of the old week")
	require.Equal(t, 5, tables())
	require.Zero(t, w.count("select count(*) from webhook_deliveries"))
	claims := w.claim(nodeA, 100)
	require.Len(t, claims, 1, "the queue has it still")
	require.Nil(t, claims[0].Body)
	require.Equal(t, 1, w.end(nodeA, claims, dead("resource_deleted")))
	require.Zero(t, w.count("select count(*) from webhook_queue"))
}

// TestTurns lets a server hang that 10,000 deliveries wait for. Fresh deliveries to other targets get
// the next turn.
func TestTurns(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.flood("acct_1", "we_hang", 10_000)
	require.Equal(t, map[string]int{"we_hang": 4}, byTarget(w.claim(nodeA, 100)))
	require.Empty(t, w.claim(nodeA, 100), "its places are taken")
	w.plan("acct_1", "we_fresh", 6)
	w.plan("acct_2", "we_other", 1)
	got := w.claim(nodeA, 100)
	require.Equal(t, map[string]int{"we_fresh": 4, "we_other": 1}, byTarget(got), "the first turn after their arrival")
	w.end(nodeA, got, delivered)
	require.Equal(t, map[string]int{"we_fresh": 2}, byTarget(w.claim(nodeA, 100)))
}

// TestTurnsWithFewPlaces gives each due target one place before another gets a second.
func TestTurnsWithFewPlaces(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, target := range []string{"we_1", "we_2", "we_3"} {
		w.flood("acct_"+target, target, 100)
	}
	require.Equal(t, map[string]int{"we_1": 1, "we_2": 1}, byTarget(w.claim(nodeA, 2)))
	w.now = w.now.Add(time.Second)
	require.Equal(t, map[string]int{"we_3": 1}, byTarget(w.claim(nodeA, 1)), "it has waited longest")
	w.now = w.now.Add(time.Second)
	require.Empty(t, w.claim(nodeA, 7), "the last places are for accounts that have none")
	require.Equal(t, map[string]int{"we_1": 1, "we_2": 1, "we_3": 1}, byTarget(w.claim(nodeA, 11)))
}

// TestPlacesAreLeftForOthers lets 30 accounts with servers that hang ask for all places of a node.
func TestPlacesAreLeftForOthers(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 30 {
		for j := range 5 {
			w.flood(fmt.Sprintf("acct_%d", i), fmt.Sprintf("we_%d_%d", i, j), 10)
		}
	}
	free := 256
	for range 20 {
		free -= len(w.claim(nodeA, free))
	}
	require.Greater(t, free, 24)
	require.Less(t, free, 60)
	w.plan("acct_fresh", "we_fresh", 6)
	require.Equal(t, map[string]int{"we_fresh": 4}, byTarget(w.claim(nodeA, free)))
}

func TestAnAccountHasABoundedShare(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 10 {
		w.flood("acct_1", fmt.Sprintf("we_%d", i), 10)
	}
	w.flood("acct_2", "we_z", 10)
	claims := w.claim(nodeA, 1000)
	got := byTarget(claims)
	require.Equal(t, 4, got["we_z"])
	require.Len(t, claims, deliveries.PerAccount+4)
	require.Empty(t, w.claim(nodeA, 1000))
	w.end(nodeA, claims[:1], delivered)
	require.Len(t, w.claim(nodeA, 1000), 1)
}

// TestAFailingTargetHasOnePlace counts failures in a row.
func TestAFailingTargetHasOnePlace(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.flood("acct_1", "we_1", 100)
	for range 3 {
		claims := w.claim(nodeA, 100)
		require.Len(t, claims, 4)
		w.end(nodeA, claims, w.failed(time.Hour))
	}
	claims := w.claim(nodeA, 100)
	require.Len(t, claims, 1)
	require.Equal(t, 1, w.count("select count(*) from webhook_turns where failures = 12 and first_failure_at = last_failure_at and last_success_at is null"))
	w.end(nodeA, claims, delivered)
	require.Len(t, w.claim(nodeA, 100), 4)
	require.Equal(t, 1, w.count("select count(*) from webhook_turns where failures = 0 and first_failure_at is null and last_success_at is not null"))
}

func TestRetries(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.plan("acct_1", "we_1", 1)
	first := w.claim(nodeA, 100)
	require.Equal(t, 1, w.end(nodeA, first, w.failed(time.Minute)))
	_, next, err := w.store.Claim(t.Context(), nodeA, 10, w.now)
	require.NoError(t, err)
	require.True(t, w.now.Add(time.Minute).Equal(next), "the loop wakes at the time of the next attempt")
	w.now = w.now.Add(time.Minute)
	second := w.claim(nodeA, 100)
	require.Equal(t, []int{2, 1}, []int{second[0].Attempt, second[0].Step})
	require.Equal(t, first[0].Body, second[0].Body)
	require.Zero(t, w.end(nodeB, second, delivered), "only the holder of a claim has results")
	require.Equal(t, 1, w.end(nodeA, second, delivered))
	require.Zero(t, w.end(nodeA, second, dead("exhausted")), "a result counts once")
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where status = 'delivered' and attempt_count = 2 and last_response_status = 204 and last_error is null and delivered_at is not null"))
	require.Equal(t, 2, w.count("select count(*) from webhook_attempts where node = $1", nodeA))
	require.Zero(t, w.count("select count(*) from webhook_queue"))
}

// TestTwoNodes shares the places of a target between two nodes. No delivery is claimed twice, and the
// claims of a dead node come back.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.join("node_b")
	w.flood("acct_1", "we_1", 100)
	a, b := w.claim(nodeA, 100), w.claim(nodeB, 100)
	require.Len(t, a, 2)
	require.Len(t, b, 2)
	require.Empty(t, w.claim(nodeA, 100))
	w.end(nodeB, b, delivered)
	require.Len(t, w.claim(nodeB, 100), 2, "B goes on while A holds its places")

	w.kill("node_a")
	got := w.claim(nodeB, 100)
	require.Empty(t, got, "the claims of A are not returned yet, and the target has four")
	returned, err := w.store.Recover(t.Context(), w.now)
	require.NoError(t, err)
	require.Equal(t, 2, returned)
	got = w.claim(nodeB, 100)
	require.Len(t, got, 2, "now B has all four places")
	require.Zero(t, w.end(nodeA, a, delivered), "A was overtaken")
	require.Equal(t, 2, w.count("select count(*) from webhook_attempts where node = $1 and error like 'interrupted%' and status is null and n = 1", nodeA))
	interruptedIDs := map[string]bool{a[0].DeliveryID: true, a[1].DeliveryID: true}
	for _, c := range got {
		require.True(t, interruptedIDs[c.DeliveryID], "the oldest come first")
		require.Equal(t, []int{2, 0}, []int{c.Attempt, c.Step}, "an interrupted attempt uses up no step of the schedule")
	}
}

// TestClaimersAtOnce lets two nodes claim and end deliveries at the same time.
func TestClaimersAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.join("node_b")
	const targets, each = 20, 30
	for i := range targets {
		w.flood(fmt.Sprintf("acct_%d", i), fmt.Sprintf("we_%d", i), each)
	}
	type claimed struct {
		node string
		ids  []string
		err  error
	}
	found := make(chan claimed)
	for _, node := range []string{nodeA, nodeA, nodeB, nodeB} {
		go func() {
			for range 2000 {
				got, _, err := w.store.Claim(w.Context(), node, 15, w.now)
				c := claimed{node: node, err: err}
				results := make([]deliveries.Result, len(got))
				for i, g := range got {
					c.ids = append(c.ids, g.DeliveryID)
					results[i] = deliveries.Result{EventID: g.EventID, Target: g.Target, DeliveryID: g.DeliveryID, Attempt: g.Attempt, Sent: true, StartedAt: w.now, Delivered: true}
				}
				if err == nil && len(got) > 0 {
					var n int
					if n, c.err = w.store.Record(w.Context(), node, results); c.err == nil && n != len(results) {
						c.err = fmt.Errorf("%d of %d results accepted", n, len(results))
					}
					for turns := deliveries.Turns(results); c.err == nil && len(turns) > 0; {
						turns, c.err = w.store.Refresh(w.Context(), turns)
					}
				}
				found <- c
				if c.err != nil || len(got) == 0 && w.Context().Err() != nil {
					return
				}
			}
		}()
	}
	seen := map[string]string{}
	for len(seen) < targets*each {
		c := <-found
		require.NoError(t, c.err)
		for _, x := range c.ids {
			require.Empty(t, seen[x], "%s was claimed by %s and %s", x, seen[x], c.node)
			seen[x] = c.node
		}
		over := w.count("select count(*) from (select from webhook_queue where claimed_by is not null group by target having count(*) > $1) x", deliveries.PerTarget)
		require.Zero(t, over, "no target has more than its places")
	}
	go func() { // let the claimers end
		for range found {
		}
	}()
}

// TestRepair continues after a crash between a result and the refresh of its turn.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.flood("acct_1", "we_1", 10)
	claims := w.claim(nodeA, 100)
	results := make([]deliveries.Result, len(claims))
	for i, c := range claims {
		results[i] = deliveries.Result{EventID: c.EventID, Target: c.Target, DeliveryID: c.DeliveryID, Attempt: 1, Sent: true, StartedAt: w.now, Delivered: true}
	}
	_, err := w.store.Record(t.Context(), nodeA, results)
	require.NoError(t, err)
	require.Empty(t, w.claim(nodeA, 100), "the turn does not know of the free places")
	_, err = w.store.Recover(t.Context(), w.now)
	require.NoError(t, err)
	require.Len(t, w.claim(nodeA, 100), 4)
}

// TestALockedTurnStopsNoOther holds the lock of a turn, as a node does that was stopped in the middle
// of a claim.
func TestALockedTurnStopsNoOther(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.plan("acct_1", "we_1", 5)
	w.plan("acct_1", "we_2", 5)
	claims := w.claim(nodeA, 100)
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "select from webhook_turns where target = 'we_1' for update")
	require.NoError(t, err)

	results := []deliveries.Result{}
	for _, c := range claims {
		r := deliveries.Result{EventID: c.EventID, Target: c.Target, DeliveryID: c.DeliveryID, Attempt: 1, Sent: true, StartedAt: w.now}
		delivered(&r)
		results = append(results, r)
	}
	n, err := w.store.Record(t.Context(), nodeA, results)
	require.NoError(t, err)
	require.Equal(t, 8, n)
	skipped, err := w.store.Refresh(t.Context(), deliveries.Turns(results))
	require.NoError(t, err)
	require.Len(t, skipped, 1)
	require.Equal(t, "we_1", skipped[0].Target)
	require.Equal(t, map[string]int{"we_2": 1}, byTarget(w.claim(nodeA, 100)))

	require.NoError(t, tx.Rollback(t.Context()))
	skipped, err = w.store.Refresh(t.Context(), skipped)
	require.NoError(t, err)
	require.Empty(t, skipped)
	require.Equal(t, map[string]int{"we_1": 1}, byTarget(w.claim(nodeA, 100)))
}

// TestDeletedResource ends waiting deliveries at once.
func TestDeletedResource(t *testing.T) {
	t.Parallel()
	w := open(t)
	e := w.event("acct_1")
	_, err := w.store.Plan(t.Context(), e, []deliveries.Target{w.target("we_1")}, w.now)
	require.NoError(t, err)
	w.end(nodeA, w.claim(nodeA, 100), w.failed(8*time.Hour))
	require.NoError(t, w.store.DropBodies(t.Context(), "acct_2", e.ResourceID, w.now))
	require.Empty(t, w.claim(nodeA, 100), "it belongs to another account")
	require.NoError(t, w.store.DropBodies(t.Context(), e.AccountID, e.ResourceID, w.now))
	claims := w.claim(nodeA, 100)
	require.Len(t, claims, 1)
	require.Nil(t, claims[0].Body)
	w.end(nodeA, claims, dead("resource_deleted"))
	_, err = w.store.Plan(t.Context(), e, []deliveries.Target{w.target("we_1")}, w.now)
	require.NoError(t, err)
	require.Zero(t, w.count("select count(*) from webhook_bodies"), "a repetition does not bring the body back")
}

// TestHasten ends waiting deliveries of a target at once.
func TestHasten(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.plan("acct_1", "we_1", 3)
	w.plan("acct_1", "we_2", 1)
	w.end(nodeA, w.claim(nodeA, 100), w.failed(8*time.Hour))
	require.NoError(t, w.store.Hasten(t.Context(), "we_1", w.now))
	require.Equal(t, map[string]int{"we_1": 3}, byTarget(w.claim(nodeA, 100)))
}

// TestIdleHostsAreForgotten: the turn of a host that only requests named goes when nothing was sent to it for 35
// days. Endpoints stay, and so does a host with a delivery.
func TestIdleHostsAreForgotten(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, target := range []string{"we_1", "ov_idle", "ov_busy"} {
		w.plan("acct_1", target, 1)
	}
	w.end(nodeA, w.claim(nodeA, 100), delivered)
	w.now = w.now.Add(36 * 24 * time.Hour)
	w.plan("acct_1", "ov_busy", 1)
	n, err := w.store.DeleteIdle(t.Context(), w.now, 10)
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	require.Equal(t, 2, w.count("select count(*) from webhook_turns where target in ('we_1', 'ov_busy')"))
}

// TestBacklog counts what is due and what fails.
func TestBacklog(t *testing.T) {
	t.Parallel()
	w := open(t)
	b, err := w.store.Backlog(t.Context(), w.now)
	require.NoError(t, err)
	require.Zero(t, b)
	w.plan("acct_1", "we_1", 1)
	w.end(nodeA, w.claim(nodeA, 100), w.failed(time.Hour))
	w.exec(`insert into webhook_endpoints (id, doc) values ('acct_1', '{"endpoints": [{"disabled_reason": "auto_failure"}, {"disabled_reason": "user"}, {}]}')`)
	b, err = w.store.Backlog(t.Context(), w.now.Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, deliveries.Backlog{Oldest: time.Hour, Failing: 1, Disabled: 1}, b)
}
