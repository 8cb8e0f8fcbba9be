package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	domain "vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/handlers/webhook"
)

// counting counts the streams that are read from their first event.
type counting struct {
	*postgres.Store
	whole atomic.Int64
}

func (c *counting) LoadAll(ctx context.Context, stream eventstore.StreamID) ([]eventstore.Recorded, error) {
	c.whole.Add(1)
	return c.Store.LoadAll(ctx, stream)
}

// TestManyChangesOfEndpoints: the subscriber reads the changes of an account since its snapshot only, except for an
// event that is older than the snapshot. The targets are those at the position of the event in both cases.
func TestManyChangesOfEndpoints(t *testing.T) {
	t.Parallel()
	w := open(t)
	streams := &counting{Store: w.store}
	w.subscriber.Streams = streams
	stream := fold.Webhook.Stream("acct_1")
	early, _ := w.endpoint("acct_1", "/early")
	before := w.ready("acct_1")
	w.append("acct_1", stream, domain.Deleted{AccountID: "acct_1", EndpointID: early, At: time.Now()})
	late, _ := w.endpoint("acct_1", "/late")
	w.snapshot(stream, "")
	after := w.ready("acct_1")
	latest, _ := w.endpoint("acct_1", "/latest")

	w.handle(after, w.append("acct_1", stream, domain.Changed{AccountID: "acct_1", EndpointID: late, URL: w.receiver.URL + "/late", Events: []string{"video.ready"}, At: time.Now()}))
	require.Zero(t, streams.whole.Load())
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where target = $1", late))
	w.handle(before)
	require.EqualValues(t, 1, streams.whole.Load())
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where target = $1", early))
	w.handle(w.ready("acct_1"))
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where target = $1", latest))
	require.Equal(t, 4, w.count("select count(*) from webhook_deliveries"))
}

// TestASnapshotOfAnotherRelease: a state that another release wrote stops neither the subscriber nor the dispatcher.
func TestASnapshotOfAnotherRelease(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/hook")
	w.snapshot(fold.Webhook.Stream("acct_1"), `{"snapshot_of":"0011223344556677"}`)
	w.start("node_a")
	w.handle(w.ready("acct_1"))
	w.eventually(1, "select count(*) from webhook_deliveries where status = 'delivered'")
}

// snapshot makes a snapshot of the endpoints at the end of their stream. An empty one has their state.
func (w *world) snapshot(stream eventstore.StreamID, snapshot string) {
	w.Helper()
	recorded, err := w.store.LoadAll(w.Context(), stream)
	require.NoError(w, err)
	if snapshot == "" {
		state, err := fold.Webhook.Fold(domain.State{}, recorded...)
		require.NoError(w, err)
		doc, err := fold.Webhook.Snapshot(state)
		require.NoError(w, err)
		snapshot = string(doc)
	}
	w.exec("update streams set snapshot = $2, snapshot_version = version where stream = $1", stream.String(), snapshot)
}

// TestRequeuedOnlyOnce: the subscriber makes no second attempt when the request has already made the delivery due.
func TestRequeuedOnlyOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/hook")
	w.receiver.on("/hook", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) })
	w.start("node_a", func(o *webhook.Options) { o.Schedule = domain.Schedule{time.Hour} })
	w.handle(w.ready("acct_1"))
	failed := func(attempts int) {
		w.eventually(1, fmt.Sprintf("select count(*) from webhook_deliveries where status = 'failed' and attempt_count = %d", attempts))
	}
	failed(1)
	var key domain.DeliveryKey
	require.NoError(t, w.pool.QueryRow(t.Context(), "select id, account_id, event_id, target from webhook_deliveries").
		Scan(&key.DeliveryID, &key.AccountID, &key.EventID, &key.Target))
	requeued := func() eventstore.Recorded {
		return w.append("acct_1", fold.Delivery.Stream(key.DeliveryID), domain.Requeued{
			DeliveryID: key.DeliveryID, AccountID: key.AccountID, EventID: key.EventID, Target: key.Target, At: time.Now(),
		})
	}
	asked := requeued()
	require.NoError(t, w.queue.Requeue(t.Context(), time.Now(), key))
	w.wake()
	failed(2)
	w.handle(asked)
	require.Zero(t, w.count("select count(*) from webhook_queue where due < clock_timestamp() + interval '10 minutes'"), "it has been attempted since")

	w.handle(requeued()) // its request was killed
	failed(3)
}
