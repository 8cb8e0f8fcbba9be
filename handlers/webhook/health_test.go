package webhook_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	domain "vqa/domain/webhook"
	"vqa/eventstore/fold"
	"vqa/handlers/webhook"
)

// clock is a clock that a test moves. It stands still otherwise.
type clock struct {
	began time.Time
	ahead atomic.Int64
}

func newClock() *clock {
	return &clock{began: time.Now().Add(time.Millisecond).Truncate(time.Microsecond)}
}

func (c *clock) now() time.Time { return c.began.Add(time.Duration(c.ahead.Load())) }

// at sets the time since the beginning.
func (c *clock) at(d time.Duration) { c.ahead.Store(int64(d)) }

// refuse answers 410, which is a failure like any other.
func refuse(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGone) }

// TestTheWholeSchedule makes all attempts of a delivery in virtual time.
func TestTheWholeSchedule(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := newClock()
	w.subscriber.Now = c.now
	w.endpoint("acct_1", "/down")
	w.receiver.on("/down", refuse)
	schedule := domain.Schedule{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour}
	n := w.start("node_a", func(o *webhook.Options) { o.Schedule, o.Now = schedule, c.now })
	w.handle(w.ready("acct_1"))
	at := time.Duration(0)
	for i, pause := range schedule {
		w.eventually(i+1, "select count(*) from webhook_attempts")
		var due time.Time
		require.NoError(t, w.pool.QueryRow(t.Context(), "select due from webhook_queue").Scan(&due))
		require.InDelta(t, pause, due.Sub(c.now()), float64(pause)/5, "pause %d", i)
		c.at(at + pause*4/5 - time.Second)
		n.Wake()
		at = due.Sub(c.began)
		c.at(at)
		n.Wake()
	}
	w.settled()
	require.Len(t, w.receiver.requests("/down"), len(schedule)+1)
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where status = 'dead' and dead_reason = 'retries_exhausted' and attempt_count = 7"))
	require.Equal(t, len(schedule)+1, w.count("select count(distinct started_at) from webhook_attempts"))
}

// TestTheRuleOf72Hours fails all attempts to an endpoint in virtual time. Its owner is warned after 36 hours, and
// it is disabled after 72. A node judges when it starts.
func TestTheRuleOf72Hours(t *testing.T) {
	t.Parallel()
	w := open(t)
	endpointID, _ := w.endpoint("acct_1", "/down")
	c := newClock()
	w.subscriber.Now = c.now
	w.receiver.on("/down", refuse)
	schedule := domain.Schedule{10000 * time.Hour}
	attempts := 0
	// fail makes one attempt so many hours after the beginning.
	fail := func(hours int) {
		c.at(time.Duration(hours) * time.Hour)
		n := w.start(fmt.Sprint("node_", hours), func(o *webhook.Options) { o.Schedule, o.Now = schedule, c.now })
		w.handle(w.ready("acct_1"))
		attempts++
		w.eventually(attempts, "select count(*) from webhook_attempts")
		n.stop()
		<-n.ended
	}
	state := func() string {
		var s string
		require.NoError(t, w.pool.QueryRow(t.Context(), "select coalesce(extract(epoch from first_failure_at - $1)::integer / 3600, -1) || ' ' || warned from webhook_turns",
			c.began).Scan(&s))
		return s
	}
	disabled := func() int { return w.count("select count(*) from events where type = 'webhook.disabled'") }

	for _, hours := range []int{0, 12, 35} {
		fail(hours)
		require.Equal(t, "0 false", state(), hours)
	}
	fail(37)
	require.Equal(t, "0 true", state(), "the owner is warned")
	fail(71)
	require.Zero(t, disabled())
	c.at(73 * time.Hour)
	w.start("node_last", func(o *webhook.Options) { o.Schedule, o.Now = schedule, c.now })
	w.eventually(1, "select count(*) from events where type = 'webhook.disabled' and data->>'reason' = 'auto_failure'")
	w.eventually(1, "select count(*) from webhook_turns where failures = 0 and not warned")
	w.handle(w.ready("acct_1"))
	w.eventually(1, "select count(*) from webhook_deliveries where status = 'dead' and dead_reason = 'endpoint_disabled' and attempt_count = 0 and target = $1", endpointID)
	require.Len(t, w.receiver.requests("/down"), attempts)
}

// TestNoTrafficOnTheLastDay: failures of the first day alone disable nothing. After a success, earlier failures do
// not count.
func TestNoTrafficOnTheLastDay(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/down")
	w.receiver.on("/down", refuse)
	c := newClock()
	w.subscriber.Now = c.now
	first := w.start("node_a", func(o *webhook.Options) { o.Schedule, o.Now = domain.Schedule{10000 * time.Hour}, c.now })
	w.handle(w.ready("acct_1"))
	w.eventually(1, "select count(*) from webhook_attempts")
	w.eventually(1, "select count(*) from webhook_turns where failures = 1")
	first.stop()
	<-first.ended
	c.at(80 * time.Hour)
	w.start("node_b", func(o *webhook.Options) { o.Schedule, o.Now = domain.Schedule{10000 * time.Hour}, c.now })
	w.receiver.on("/down", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
	w.handle(w.ready("acct_1"))
	w.eventually(1, "select count(*) from webhook_deliveries where status = 'delivered'")
	w.eventually(1, "select count(*) from webhook_turns where failures = 0 and first_failure_at is null and last_success_at is not null")
	require.Zero(t, w.count("select count(*) from events where type = 'webhook.disabled'"))
}

// TestEnableClearsTheFailures: what failed before an endpoint was enabled does not count.
func TestEnableClearsTheFailures(t *testing.T) {
	t.Parallel()
	w := open(t)
	endpointID, _ := w.endpoint("acct_1", "/hook")
	w.handle(w.ready("acct_1"))
	failing := "update webhook_turns set failures = 3, first_failure_at = clock_timestamp() - interval '80 hours', last_failure_at = clock_timestamp(), warned = true"
	stream := fold.Webhook.Stream("acct_1")
	w.exec(failing)
	w.handle(w.append("acct_1", stream, domain.Disabled{AccountID: "acct_1", EndpointID: endpointID, Reason: domain.ByUser, At: time.Now()}))
	require.Equal(t, 1, w.count("select count(*) from webhook_turns where failures = 3"))
	w.handle(w.append("acct_1", stream, domain.Enabled{AccountID: "acct_1", EndpointID: endpointID, At: time.Now()}))
	require.Equal(t, 1, w.count("select count(*) from webhook_turns where failures = 0 and not warned"))

	// Without the message, the node that judges sees that these failures are older.
	w.exec(failing)
	w.exec("update webhook_queue set due = due + interval '1 hour'")
	w.exec("update webhook_turns set next_due = next_due + interval '1 hour'")
	w.start("node_a")
	w.eventually(1, "select count(*) from webhook_turns where failures = 0")
	require.Zero(t, w.count("select count(*) from events where type = 'webhook.disabled' and data->>'reason' = 'auto_failure'"))
}
