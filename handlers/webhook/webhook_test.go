package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/video"
	domain "vqa/domain/webhook"
	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/handlers/webhook"
	"vqa/projections/public"
)

// TestEachPairHasOneDelivery delivers the log through the feed twice, from its beginning. Each pair
// of an event and a target gets one row and one request.
func TestEachPairHasOneDelivery(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.ready("acct_1") // before the endpoints
	w.endpoint("acct_1", "/a")
	w.endpoint("acct_1", "/b", "video.failed", "analysis.canceled")
	w.endpoint("acct_2", "/c")
	w.ready("acct_1")
	w.ready("acct_1")
	w.canceled("acct_1", &analysis.Webhook{URL: w.receiver.URL + "/override"})
	w.canceled("acct_1", &analysis.Webhook{URL: w.receiver.URL + "/override", Events: []string{"analysis.completed"}})
	last := w.ready("acct_2")
	w.start("node_a")

	feeds := feed.New(w.pool, codec.Events(), w.options().Log, feed.WithPollInterval(10*time.Millisecond))
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- feeds.Subscribe(ctx, webhook.Group, w.subscriber.Handle) }()
		w.eventually(1, "select count(*) from subscriptions where name = $1 and position >= $2", webhook.Group, last.Position)
		stop()
		require.NoError(t, <-ended)
		w.exec("update subscriptions set position = 0")
	}
	w.settled()
	for path, want := range map[string]int{"/a": 4, "/b": 2, "/c": 1, "/override": 1} {
		require.Len(t, w.receiver.requests(path), want, path)
	}
	require.Equal(t, 8, w.count("select count(*) from webhook_deliveries where status = 'delivered'"))
	require.Equal(t, 8, w.count("select count(*) from events where type = 'delivery.delivered' and meta->>'correlation_id' = 'req_1' and meta->>'causation_id' like 'position:%'"))
	require.Zero(t, w.count("select count(*) from parked"))
}

// TestARequeuedDeliveryIsSentAgain: the event of the log is enough, when the process that recorded it was killed
// before it made the delivery due. A repeated message sends nothing.
func TestARequeuedDeliveryIsSentAgain(t *testing.T) {
	t.Parallel()
	w := open(t)
	endpointID, _ := w.endpoint("acct_1", "/gone")
	w.handle(w.ready("acct_1"))
	key := domain.DeliveryKey{AccountID: "acct_1", Target: endpointID}
	require.NoError(t, w.pool.QueryRow(t.Context(), "select id, event_id from webhook_deliveries").Scan(&key.DeliveryID, &key.EventID))
	w.exec("delete from webhook_queue")
	w.exec("update webhook_deliveries set status = 'dead', dead_reason = 'endpoint_disabled'")
	require.NoError(t, w.commands.EndDelivery(t.Context(), command.Ending{DeliveryKey: key, Reason: domain.EndpointDisabled}))
	_, err := w.commands.RequeueDeliveries(t.Context(), command.Caller{AccountID: "acct_1", Livemode: true}, key)
	require.NoError(t, err)
	stream, err := w.store.LoadAll(t.Context(), fold.Delivery.Stream(key.DeliveryID))
	require.NoError(t, err)
	requeued := stream[len(stream)-1]

	w.start("node_a")
	w.handle(requeued)
	w.settled()
	require.Len(t, w.receiver.requests("/gone"), 1)
	w.handle(requeued)
	require.Zero(t, w.count("select count(*) from webhook_queue"))
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where status = 'delivered'"))
}

// TestOverridesAreNotSigned compares the requests of an endpoint and of the address of an analysis.
func TestOverridesAreNotSigned(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, secret := w.endpoint("acct_1", "/signed")
	w.start("node_a")
	w.handle(w.canceled("acct_1", &analysis.Webhook{URL: w.receiver.URL + "/unsigned"}))
	w.settled()
	signed, unsigned := w.receiver.requests("/signed")[0], w.receiver.requests("/unsigned")[0]
	require.NoError(t, verify(t, secret, signed))
	require.NotContains(t, unsigned.header, "Webhook-Signature")
	require.Equal(t, signed.body, unsigned.body)
	require.Equal(t, signed.header.Get("webhook-id"), unsigned.header.Get("webhook-id"))
	require.NotEmpty(t, unsigned.header.Get("webhook-timestamp"))
	require.Equal(t, "application/json", unsigned.header.Get("Content-Type"))
	var body struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(signed.body), &body))
	require.Equal(t, body.ID, signed.header.Get("webhook-id"))
}

func verify(t *testing.T, secret []byte, r request) error {
	t.Helper()
	v, err := standardwebhooks.NewWebhook(domain.FormatSecret(secret))
	require.NoError(t, err)
	return v.Verify([]byte(r.body), r.header)
}

// TestRotation verifies the signatures before, during and after the overlap of two secrets.
func TestRotation(t *testing.T) {
	t.Parallel()
	w := open(t)
	endpointID, old := w.endpoint("acct_1", "/hook")
	fresh, sealed := newSecret(t)
	w.start("node_a")
	w.handle(w.ready("acct_1"))
	w.settled()
	rotate := func(expires time.Time) {
		w.append("acct_1", fold.Webhook.Stream("acct_1"), domain.SecretRotated{
			AccountID: "acct_1", EndpointID: endpointID, Secret: sealed, OldExpiresAt: expires, At: time.Now(),
		})
		w.handle(w.ready("acct_1"))
		w.settled()
	}
	rotate(time.Now().Add(24 * time.Hour))
	got := w.receiver.requests("/hook")
	require.Len(t, got, 2)
	require.NoError(t, verify(t, old, got[0]))
	require.Error(t, verify(t, fresh, got[0]))
	require.NoError(t, verify(t, old, got[1]))
	require.NoError(t, verify(t, fresh, got[1]))
	require.Equal(t, 1, strings.Count(got[1].header.Get("webhook-signature"), " "), "two signatures with one space")

	old, _ = fresh, old
	fresh, sealed = newSecret(t)
	rotate(time.Now().Add(-time.Second))
	got = w.receiver.requests("/hook")
	require.Error(t, verify(t, old, got[2]))
	require.NoError(t, verify(t, fresh, got[2]))
	altered := got[2]
	altered.body += " "
	require.Error(t, verify(t, fresh, altered))
}

// TestRetriesSendTheSameBytes fails the first two attempts.
func TestRetriesSendTheSameBytes(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, secret := w.endpoint("acct_1", "/hook")
	var calls atomic.Int32
	w.receiver.on("/hook", func(rw http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			rw.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(rw, "no luck")
		}
	})
	w.start("node_a")
	event := w.ready("acct_1")
	w.handle(event)
	w.settled()
	got := w.receiver.requests("/hook")
	require.Len(t, got, 3)
	for _, r := range got {
		require.Equal(t, got[0].body, r.body)
		require.Equal(t, got[0].header.Get("webhook-id"), r.header.Get("webhook-id"))
		require.NoError(t, verify(t, secret, r))
	}
	require.Equal(t, 1, w.count("select count(*) from webhook_deliveries where status = 'delivered' and attempt_count = 3 and last_response_status = 200"))
	require.Equal(t, 2, w.count("select count(*) from webhook_attempts where status = 500 and snippet = 'no luck' and error = 'the server responded with status 500'"))
	require.Equal(t, 3, w.count("select count(distinct n) from webhook_attempts where node = 'node_a@1' and duration_us > 0"))
	eventID, _ := public.ID(event)
	require.Equal(t, eventID, got[0].header.Get("webhook-id"))
}

// TestDeletions ends waiting deliveries of a deleted endpoint and of a deleted video at once.
func TestDeletions(t *testing.T) {
	t.Parallel()
	w := open(t)
	deleted, _ := w.endpoint("acct_1", "/deleted")
	kept, _ := w.endpoint("acct_1", "/kept")
	refuse := func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }
	w.receiver.on("/deleted", refuse)
	w.receiver.on("/kept", refuse)
	w.start("node_a", func(o *webhook.Options) { o.Schedule = domain.Schedule{time.Hour} })
	e := w.ready("acct_1")
	w.handle(e)
	w.eventually(2, "select count(*) from webhook_deliveries where status = 'failed'")

	w.handle(w.append("acct_1", fold.Webhook.Stream("acct_1"), domain.Deleted{AccountID: "acct_1", EndpointID: deleted, At: time.Now()}))
	w.eventually(1, "select count(*) from webhook_deliveries where status = 'dead' and dead_reason = 'endpoint_deleted' and target = $1", deleted)
	require.Equal(t, 1, w.count("select count(*) from webhook_bodies"))

	gone := w.append("acct_1", fold.Video.Stream(e.Stream.ID), video.Deleted{VideoID: e.Stream.ID, At: time.Now()})
	w.handle(gone)
	w.eventually(1, "select count(*) from webhook_deliveries where status = 'dead' and dead_reason = 'resource_deleted' and target = $1", kept)
	require.Zero(t, w.count("select count(*) from webhook_bodies"))
	w.handle(e, gone)
	require.Zero(t, w.count("select count(*) from webhook_bodies"))
	w.settled()
}

// TestRetryAfter postpones the next attempt as the receiver asks.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.endpoint("acct_1", "/seconds")
	w.endpoint("acct_1", "/date")
	w.endpoint("acct_1", "/far")
	answer := func(value string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", value)
			rw.WriteHeader(http.StatusTooManyRequests)
		}
	}
	w.receiver.on("/seconds", answer("600"))
	w.receiver.on("/date", answer(time.Now().Add(20*time.Minute).UTC().Format(http.TimeFormat)))
	w.receiver.on("/far", answer("9999999"))
	w.start("node_a", func(o *webhook.Options) { o.Schedule = domain.Schedule{time.Minute} })
	w.handle(w.ready("acct_1"))
	w.eventually(3, "select count(*) from webhook_deliveries where status = 'failed'")
	due := func(from, to string) int {
		return w.count("select count(*) from webhook_queue where due - clock_timestamp() between $1::interval and $2::interval", from, to)
	}
	require.Equal(t, 1, due("9 minutes", "10 minutes"))
	require.Equal(t, 1, due("19 minutes", "20 minutes"))
	require.Equal(t, 1, due("119 minutes", "121 minutes"), "the schedule and 2 hours at most")
}

// TestVerify removes and doubles deliveries by hand.
func TestVerify(t *testing.T) {
	t.Parallel()
	w := open(t)
	one, _ := w.endpoint("acct_1", "/a")
	w.endpoint("acct_1", "/b")
	first, second := w.ready("acct_1"), w.canceled("acct_1", &analysis.Webhook{URL: w.receiver.URL + "/override"})
	third := w.ready("acct_1")
	w.handle(first, second)
	w.start("node_a")
	w.settled()
	v := &webhook.Verifier{Events: public.NewReader(w.store), Streams: w.store, Log: w.store, Pairs: w.queue, Now: time.Now}
	check := func(setAside ...int64) webhook.Verification {
		out, err := v.Verify(t.Context(), third.Position, setAside)
		require.NoError(t, err)
		return out
	}
	clean := check(third.Position)
	require.Equal(t, webhook.Verification{Position: third.Position, Events: 2, Pairs: 5, Waiting: 1, Findings: []webhook.Finding{}}, clean)
	late := check()
	require.Len(t, late.Findings, 2, "the subscriber skipped an event")
	require.Equal(t, webhook.Missing, late.Findings[0].Problem)
	w.handle(third)
	w.settled()
	require.Empty(t, check().Findings)

	id1, _ := public.ID(first)
	id2, _ := public.ID(second)
	w.exec("delete from webhook_deliveries where event_id = $1 and target = $2", id1, one)
	w.exec("update webhook_deliveries set status = 'failed', delivered_at = null where event_id = $1 and target like 'ov_%'", id2)
	w.exec("insert into webhook_deliveries select d.event_id, 'we_stranger', d.id, account_id, livemode, event_type, resource_id, position, null, status, attempt_count, null, null, null, null, delivered_at, created_at from webhook_deliveries d where event_id = $1 limit 1", id1)
	w.exec("insert into webhook_deliveries select webhook_event_bound(clock_timestamp()), target, d.id, account_id, livemode, event_type, resource_id, 1, null, status, attempt_count, null, null, null, null, delivered_at, created_at from webhook_deliveries d where event_id = $1 and target = 'we_stranger'", id1)
	conn := w.asOwner("alter table webhook_deliveries drop constraint webhook_deliveries_pkey")
	_, err := conn.Exec(t.Context(), "insert into webhook_deliveries select * from webhook_deliveries where event_id = $1 and target like 'we_%' and target <> $2", id2, one)
	require.NoError(t, err)

	found := map[webhook.Problem][]string{}
	for _, f := range check().Findings {
		found[f.Problem] = append(found[f.Problem], f.EventID+" "+f.Target)
	}
	require.Equal(t, []string{id1 + " " + one}, found[webhook.Missing])
	require.Len(t, found[webhook.Unexpected], 2)
	require.Contains(t, found[webhook.Unexpected], id1+" we_stranger")
	require.Len(t, found[webhook.Double], 1)
	require.Len(t, found[webhook.Stuck], 1)
	require.Contains(t, found[webhook.Stuck][0], id2+" ov_")
}

// TestEventsOfAnotherMode does not deliver a live event to a test endpoint.
func TestEventsOfAnotherMode(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, sealed := newSecret(t)
	w.append("acct_1", fold.Webhook.Stream("acct_1"), domain.Created{
		AccountID: "acct_1", EndpointID: "we_test", URL: w.receiver.URL, Events: []string{"video.ready"}, Secret: sealed, At: time.Now(),
	})
	w.handle(w.ready("acct_1"))
	require.Zero(t, w.count("select count(*) from webhook_deliveries"))
}
