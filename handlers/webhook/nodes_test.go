package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/egress"
	"vqa/handlers/webhook"
)

// TestAServerThatHangsDelaysNoOther queues 10,000 deliveries for a server that hangs.
func TestAServerThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := open(t)
	hang, _ := w.endpoint("acct_1", "/hang", "video.failed")
	w.endpoint("acct_1", "/fresh")
	w.endpoint("acct_2", "/other")
	release := make(chan struct{})
	w.receiver.on("/hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	w.exec(`insert into webhook_bodies (event_id, account_id, resource_id, body)
		select webhook_event_bound(clock_timestamp()) || lpad(g::text, 16, '0'), 'acct_1', 'video_1', '{}' from generate_series(1, 10000) as g`)
	w.exec(`insert into webhook_deliveries (event_id, target, id, account_id, livemode, event_type, resource_id, position, status, created_at)
		select event_id, $1, 'whd_' || event_id, 'acct_1', true, 'video.failed', 'video_1', 0, 'pending', clock_timestamp() from webhook_bodies`, hang)
	w.exec(`insert into webhook_queue (event_id, target, delivery_id, account_id, due)
		select event_id, target, id, account_id, created_at from webhook_deliveries`)
	w.exec("insert into webhook_turns (target, account_id, next_due) values ($1, 'acct_1', clock_timestamp() - interval '1 hour')", hang)
	w.start("node_a")
	require.Eventually(t, func() bool { return len(w.receiver.requests("/hang")) == 4 }, patience, time.Millisecond)
	for range 20 {
		w.handle(w.ready("acct_1"), w.ready("acct_2"))
	}
	w.eventually(40, "select count(*) from webhook_deliveries where status = 'delivered'")
	require.Len(t, w.receiver.requests("/hang"), 4, "the others were delivered while four hang")
}

// TestTwoNodes delivers with two nodes. No attempt is made by both at the same time.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	w := open(t)
	const endpoints, events = 5, 40
	for i := range endpoints {
		w.endpoint("acct_1", fmt.Sprintf("/%d", i))
	}
	var n atomic.Int64
	for i := range endpoints {
		w.receiver.on(fmt.Sprintf("/%d", i), func(rw http.ResponseWriter, _ *http.Request) {
			if n.Add(1)%5 == 0 {
				rw.WriteHeader(http.StatusBadGateway)
			}
		})
	}
	a, b := w.start("node_a"), w.start("node_b")
	for range events {
		w.handle(w.ready("acct_1"))
	}
	w.settled()
	require.Empty(t, w.receiver.overlaps)
	require.Equal(t, endpoints*events, w.count("select count(*) from webhook_deliveries where status in ('delivered', 'dead')"))
	for _, x := range []*node{a, b} {
		require.NotZero(t, w.count("select count(*) from webhook_attempts where node = $1", x.name+"@1"), "both nodes work")
	}
}

// TestADeadNode stops a node in the middle of its attempts, as a kill does: nothing is recorded. The
// other node goes on at once with the rest, and with these attempts when the lease is over.
func TestADeadNode(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/hook")
	hold := make(chan struct{})
	dead := w.start("node_dead", func(o *webhook.Options) { o.Poster = stuck{hold} })
	comeBack := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(comeBack)
	w.exec(`insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until)
		values ('node_b', 'early', 1, clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 hour')`)
	const events = 20
	for range events {
		w.handle(w.ready("acct_1"))
	}
	w.eventually(2, "select count(*) from webhook_queue where claimed_by = 'node_dead@1'")
	w.start("node_b")
	w.wake()
	w.eventually(events-2, "select count(*) from webhook_deliveries where status = 'delivered'")
	require.Equal(t, 2, w.count("select count(*) from webhook_queue"), "two are in flight on the dead node")

	dead.bury()
	w.settled()
	require.Equal(t, 2, w.count("select count(*) from webhook_attempts where node = 'node_dead@1' and error like 'interrupted%' and status is null"))
	require.Len(t, w.receiver.requests("/hook"), events)
	comeBack() // its results are refused
	dead.stop()
	<-dead.ended
	require.Equal(t, events, w.count("select count(*) from webhook_deliveries where status = 'delivered'"))
	require.Equal(t, events, w.count("select count(*) from events where type = 'delivery.delivered'"))
}

// stuck is a poster whose requests have no end.
type stuck struct{ hold chan struct{} }

func (s stuck) Post(context.Context, string, http.Header, []byte) (egress.Response, error) {
	<-s.hold
	return egress.Response{}, errors.New("too late")
}

// TestALostLeaseCancelsAttempts ends the lease of a node during an attempt.
func TestALostLeaseCancelsAttempts(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/hook")
	began, canceled := make(chan struct{}, 10), make(chan struct{}, 10)
	w.receiver.on("/hook", func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
		canceled <- struct{}{}
	})
	n := w.start("node_a")
	w.handle(w.ready("acct_1"))
	<-began
	n.endLease()
	<-canceled
	w.eventually(1, "select count(*) from webhook_queue where claimed_by is null and attempt = 2 and step = 0")
	require.Equal(t, 1, w.count("select count(*) from webhook_attempts where error like 'interrupted%'"))
}

// TestACleanStopWaitsForAttempts stops a node during an attempt.
func TestACleanStopWaitsForAttempts(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/hook")
	began, answer := make(chan struct{}), make(chan struct{})
	w.receiver.on("/hook", func(http.ResponseWriter, *http.Request) {
		close(began)
		<-answer
	})
	n := w.start("node_a")
	w.handle(w.ready("acct_1"))
	<-began
	n.stop()
	close(answer)
	<-n.ended
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where status = 'delivered' and attempt_count = 1"))
}
