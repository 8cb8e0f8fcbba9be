package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/webhook"
	"vqa/projections/deliveries"
)

// webhooked is an endpoint whose deliveries a test makes.
type webhooked struct {
	*world
	accountID  string
	livemode   bool
	endpointID string
}

// hooked creates an endpoint of the client.
func (c *client) hooked() webhooked {
	return webhooked{world: c.w, accountID: c.key.AccountID, livemode: true, endpointID: c.endpoint(`{}`).at("id").(string)}
}

func (h webhooked) path(rest string) string { return "/v1/webhook_endpoints/" + h.endpointID + rest }

// sent is a delivery.
type sent struct{ id, eventID string }

// delivery plans a delivery and gives it a state, as the dispatcher does: pending, delivering, failed,
// delivered, or dead for a reason.
func (h webhooked) delivery(state, reason string) sent {
	h.t.Helper()
	eventID := h.service.IDs.New(id.Event)
	s := sent{webhook.DeliveryID(h.now(), eventID, h.endpointID), eventID}
	_, err := deliveries.New(h.pool).Plan(h.t.Context(), deliveries.Event{
		ID: eventID, Type: "video.ready", AccountID: h.accountID, Livemode: h.livemode, ResourceID: "video_1", Position: 7, At: h.now(), Body: []byte("{}"),
	}, []deliveries.Target{{Key: h.endpointID, DeliveryID: s.id}}, h.now())
	require.NoError(h.t, err)
	exec := func(sql string, args ...any) {
		_, err := h.pool.Exec(h.t.Context(), sql, args...)
		require.NoError(h.t, err)
	}
	switch state {
	case "delivering":
		exec("update webhook_queue set claimed_by = 'node', claimed_at = $2 where event_id = $1", eventID, h.now())
	case "failed":
		exec("update webhook_queue set due = due + interval '1 hour', attempt = 2, step = 1 where event_id = $1", eventID)
	case "delivered", "dead":
		exec("delete from webhook_queue where event_id = $1", eventID)
	}
	if state != "pending" && state != "delivering" {
		exec(`update webhook_deliveries set status = $2, dead_reason = nullif($3, ''), attempt_count = 1, last_attempt_at = $4, last_response_status = 500,
			delivered_at = case when $2 = 'delivered' then $4::timestamptz end, last_error = 'the server responded with status 500' where event_id = $1`,
			eventID, state, reason, h.now())
		exec(`insert into webhook_attempts (event_id, delivery_id, n, started_at, duration_us, status, error, snippet, node)
			values ($1, $2, 1, $3, 12345, 500, 'the server responded with status 500', 'oops', 'node')`, eventID, s.id, h.now())
	}
	h.advance(time.Millisecond)
	return s
}

func TestDeliveriesAreListed(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	h := c.hooked()
	require.Empty(t, c.do(http.MethodGet, h.path("/deliveries"), "").items())
	made := map[string]sent{}
	for _, state := range []string{"pending", "delivering", "delivered", "failed", "dead"} {
		reason := ""
		if state == "dead" {
			reason = "retries_exhausted"
		}
		made[state] = h.delivery(state, reason)
	}
	c.hooked().delivery("pending", "") // to another endpoint

	list := c.do(http.MethodGet, h.path("/deliveries"), "").items()
	var states []string
	for _, d := range list {
		states = append(states, d["status"].(string))
		require.Equal(t, made[d["status"].(string)].id, d["id"])
		require.Equal(t, made[d["status"].(string)].eventID, d["event_id"])
		ended := d["status"] == "delivered" || d["status"] == "dead"
		require.Equal(t, ended, d["next_attempt_at"] == nil, "%s", d["status"])
		require.Equal(t, d["status"] == "delivered", d["delivered_at"] != nil)
		require.Equal(t, d["status"] == "dead", d["dead_reason"] != nil)
	}
	require.Equal(t, []string{"dead", "failed", "delivered", "delivering", "pending"}, states)

	page := c.do(http.MethodGet, h.path("/deliveries?limit=2&starting_after="+made["failed"].id), "")
	require.Equal(t, true, page.at("has_more"))
	require.Equal(t, []any{made["delivered"].id, made["delivering"].id}, []any{page.items()[0]["id"], page.items()[1]["id"]})
	before := c.do(http.MethodGet, h.path("/deliveries?limit=1&ending_before="+made["failed"].id), "").items()
	require.Equal(t, made["dead"].id, before[0]["id"])
	for state, d := range made {
		only := c.do(http.MethodGet, h.path("/deliveries?status="+state), "").items()
		require.Len(t, only, 1, state)
		require.Equal(t, only[0], c.do(http.MethodGet, h.path("/deliveries/"+d.id), "").json)
	}
	require.Empty(t, c.do(http.MethodGet, h.path("/deliveries?event_type=video.failed"), "").items())
	w.refused(c.do(http.MethodGet, h.path("/deliveries?status=late"), ""), 400, fault.ValidationFailed, "status")
	w.refused(c.do(http.MethodGet, h.path("/deliveries?starting_after="+c.hooked().delivery("pending", "").id+"X"), ""), 400, fault.ValidationFailed, "starting_after")

	attempts := c.do(http.MethodGet, h.path("/deliveries/"+made["dead"].id+"/attempts"), "").items()
	require.Len(t, attempts, 1)
	for member, want := range map[string]any{
		"object": "webhook_attempt", "number": 1.0, "duration_ms": 12.0, "status": 500.0, "error": "the server responded with status 500", "response": "oops",
	} {
		require.Equal(t, want, attempts[0][member], member)
	}

	w.advance(31 * 24 * time.Hour)
	require.Empty(t, c.do(http.MethodGet, h.path("/deliveries"), "").items())
	w.refused(c.do(http.MethodGet, h.path("/deliveries/"+made["dead"].id), ""), 404, fault.ResourceNotFound, "delivery_id")
}

// TestDeliveriesBelongToTheirEndpoint: neither another account, nor the other mode, nor another endpoint of
// the account reaches a delivery.
func TestDeliveriesBelongToTheirEndpoint(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner, stranger := w.customer(0), w.customer(0)
	h, other, foreign := owner.hooked(), owner.hooked(), stranger.hooked()
	d := h.delivery("dead", "retries_exhausted")
	for _, rest := range []string{"", "/attempts", "/redeliver"} {
		method := http.MethodGet
		if rest == "/redeliver" {
			method = http.MethodPost
		}
		w.refused(owner.do(method, other.path("/deliveries/"+d.id+rest), ""), 404, fault.ResourceNotFound, "delivery_id")
		w.refused(stranger.do(method, foreign.path("/deliveries/"+d.id+rest), ""), 404, fault.ResourceNotFound, "delivery_id")
		w.refused(stranger.do(method, h.path("/deliveries/"+d.id+rest), ""), 404, fault.ResourceNotFound, "id")
		w.refused(owner.testKey().do(method, h.path("/deliveries/"+d.id+rest), ""), 404, fault.ResourceNotFound, "id")
		w.refused(owner.do(method, h.path("/deliveries/whd_x"+rest), ""), 404, fault.ResourceNotFound, "delivery_id")
	}
	w.refused(stranger.do(http.MethodGet, foreign.path("/deliveries?starting_after="+d.id), ""), 404, fault.ResourceNotFound, "starting_after")
	w.refused(owner.do(http.MethodGet, other.path("/deliveries?ending_before="+d.id), ""), 404, fault.ResourceNotFound, "ending_before")
	require.Equal(t, "dead", owner.do(http.MethodGet, h.path("/deliveries/"+d.id), "").at("status"))
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	h := c.hooked()
	for _, state := range []string{"failed", "dead"} {
		reason := map[string]string{"dead": "retries_exhausted"}[state]
		d := h.delivery(state, reason)
		got := c.do(http.MethodPost, h.path("/deliveries/"+d.id+"/redeliver"), "")
		require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
		require.Equal(t, []any{d.id, d.eventID, "pending", nil, 1.0}, []any{got.at("id"), got.at("event_id"), got.at("status"), got.at("dead_reason"), got.at("attempt_count")})
		var attempt, step int
		var due, turn time.Time
		require.NoError(t, w.pool.QueryRow(t.Context(), `select q.attempt, q.step, q.due, t.next_due from webhook_queue q
			join webhook_turns t on t.target = q.target where q.event_id = $1`, d.eventID).Scan(&attempt, &step, &due, &turn))
		require.Equal(t, []int{2, 0}, []int{attempt, step}, "all retries are ahead")
		require.False(t, due.After(w.now()))
		require.False(t, turn.After(due))
	}
	for _, state := range []string{"pending", "delivering", "delivered"} {
		d := h.delivery(state, "")
		refused := c.do(http.MethodPost, h.path("/deliveries/"+d.id+"/redeliver"), "")
		w.refused(refused, 409, fault.ResourceConflict, "")
		require.Contains(t, refused.at("error.message"), state)
	}
	gone := h.delivery("dead", "resource_deleted")
	w.refused(c.do(http.MethodPost, h.path("/deliveries/"+gone.id+"/redeliver"), ""), 409, fault.ResourceConflict, "")
	d := h.delivery("dead", "endpoint_disabled")
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, h.path("/disable"), "").StatusCode)
	refused := c.do(http.MethodPost, h.path("/deliveries/"+d.id+"/redeliver"), "")
	w.refused(refused, 409, fault.ResourceConflict, "")
	require.Contains(t, refused.at("error.message"), "disabled")
	require.Equal(t, "dead", c.do(http.MethodGet, h.path("/deliveries/"+d.id), "").at("status"))
}

func TestRedeliverARange(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	h := c.hooked()
	early := h.delivery("dead", "retries_exhausted")
	w.advance(time.Hour)
	from := w.now()
	var within []sent
	for range 3 {
		within = append(within, h.delivery("dead", "endpoint_disabled"))
	}
	h.delivery("delivered", "")
	h.delivery("dead", "resource_deleted") // its body is gone
	to := w.now()
	w.advance(time.Hour)
	late := h.delivery("failed", "")

	body := fmt.Sprintf(`{"created_after": %q, "created_before": %q}`, strings.ToLower(from.Truncate(time.Millisecond).Format(time.RFC3339Nano)), to.Format(time.RFC3339Nano))
	got := c.do(http.MethodPost, h.path("/redeliver"), body)
	require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
	require.Equal(t, map[string]any{"object": "webhook_redelivery", "requeued": 3.0, "has_more": false}, got.json)
	for _, d := range within {
		require.Equal(t, "pending", c.do(http.MethodGet, h.path("/deliveries/"+d.id), "").at("status"))
	}
	require.Equal(t, "dead", c.do(http.MethodGet, h.path("/deliveries/"+early.id), "").at("status"))
	require.Equal(t, "failed", c.do(http.MethodGet, h.path("/deliveries/"+late.id), "").at("status"))
	again := c.do(http.MethodPost, h.path("/redeliver"), body)
	require.Equal(t, 0.0, again.at("requeued"), "they wait already")
	w.refused(c.do(http.MethodPost, h.path("/redeliver"), `{}`), 400, fault.ValidationFailed, "created_after")
	w.refused(c.do(http.MethodPost, h.path("/redeliver"), `{"created_after": "yesterday"}`), 400, fault.ValidationFailed, "created_after")
}

// TestEnableWithRedeliver queues only what ended because the endpoint was disabled.
func TestEnableWithRedeliver(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	h := c.hooked()
	exhausted := h.delivery("dead", "retries_exhausted")
	missed := h.delivery("dead", "endpoint_disabled")
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, h.path("/disable"), "").StatusCode)
	plain := c.do(http.MethodPost, h.path("/enable"), "")
	require.NotContains(t, plain.json, "redelivery")
	got := c.do(http.MethodPost, h.path("/enable"), `{"redeliver": true}`)
	require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
	require.Equal(t, 1.0, got.at("redelivery.requeued"))
	require.Equal(t, "pending", c.do(http.MethodGet, h.path("/deliveries/"+missed.id), "").at("status"))
	require.Equal(t, "dead", c.do(http.MethodGet, h.path("/deliveries/"+exhausted.id), "").at("status"))
	w.refused(c.do(http.MethodPost, h.path("/enable"), `{"redeliver": "yes"}`), 400, fault.ValidationFailed, "redeliver")
}

// TestSampleEvents: the sample of each type has the form of a real event, and is in no feed.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	h := c.hooked()
	for _, kind := range []string{"", "video.ready", "video.failed", "analysis.completed", "analysis.failed", "analysis.canceled", "stream.ended"} {
		body := ""
		if kind != "" {
			body = fmt.Sprintf(`{"event_type": %q}`, kind)
		}
		got := c.do(http.MethodPost, h.path("/test"), body)
		require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
		require.Equal(t, "pending", got.at("status"))
		if kind == "" {
			kind = "video.ready"
		}
		require.Equal(t, kind, got.at("event_type"))
		var raw []byte
		require.NoError(t, w.pool.QueryRow(t.Context(), "select body from webhook_bodies where event_id = $1", got.at("event_id")).Scan(&raw))
		var event struct {
			ID, Type string
			Data     struct{ ID, Object, Status string }
		}
		require.NoError(t, json.Unmarshal(raw, &event))
		require.Equal(t, []string{got.at("event_id").(string), kind, event.Data.Object + "." + event.Data.Status}, []string{event.ID, event.Type, kind}, string(raw))
		w.refused(c.do(http.MethodGet, "/v1/events/"+event.ID, ""), 404, fault.ResourceNotFound, "id")
	}
	require.Empty(t, c.do(http.MethodGet, "/v1/events", "").items())

	require.Equal(t, http.StatusOK, c.do(http.MethodPost, h.path("/disable"), "").StatusCode)
	w.refused(c.do(http.MethodPost, h.path("/test"), ""), 409, fault.ResourceConflict, "")
	streams := "/v1/webhook_endpoints/" + c.endpoint(`{"events": ["stream.ended"]}`).at("id").(string)
	require.Equal(t, "stream.ended", c.do(http.MethodPost, streams+"/test", "").at("event_type"))
	w.refused(c.do(http.MethodPost, streams+"/test", `{"event_type": "stream.began"}`), 400, fault.ValidationFailed, "event_type")
}

// TestFailingSinceIsShown: an endpoint shows since when it fails, unless it is disabled or these failures do not count.
func TestFailingSinceIsShown(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	path := "/v1/webhook_endpoints/" + c.endpoint(`{}`).at("id").(string)
	shown := func() any { return c.do(http.MethodGet, path, "").at("failing_since") }
	require.Nil(t, shown())
	since := w.now().Truncate(time.Millisecond)
	_, err := w.pool.Exec(t.Context(), `insert into webhook_turns (target, account_id, next_due, failures, first_failure_at, last_failure_at)
		values ($1, $2, 'infinity', 1, $3, $3)`, strings.TrimPrefix(path, "/v1/webhook_endpoints/"), c.key.AccountID, since.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, since.Add(time.Second).Format("2006-01-02T15:04:05.999Z"), shown())
	c.do(http.MethodPost, path+"/disable", "")
	require.Nil(t, shown())
	w.advance(time.Minute)
	c.do(http.MethodPost, path+"/enable", "")
	require.Nil(t, shown())
}

func TestLastSuccessIsShown(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	path := "/v1/webhook_endpoints/" + c.endpoint(`{}`).at("id").(string)
	require.Nil(t, c.do(http.MethodGet, path, "").at("last_success_at"))
	_, err := w.pool.Exec(t.Context(), "insert into webhook_turns (target, account_id, next_due, last_success_at) values ($1, $2, 'infinity', '2026-11-22 12:00:00Z')",
		strings.TrimPrefix(path, "/v1/webhook_endpoints/"), c.key.AccountID)
	require.NoError(t, err)
	c.endpoint(`{}`)
	const shown = "2026-11-22T12:00:00Z"
	require.Equal(t, shown, c.do(http.MethodGet, path, "").at("last_success_at"))
	require.Equal(t, shown, c.do(http.MethodPost, path+"/rotate_secret", "").at("last_success_at"))
	list := c.do(http.MethodGet, "/v1/webhook_endpoints", "").items()
	require.Equal(t, []any{nil, shown}, []any{list[0]["last_success_at"], list[1]["last_success_at"]})
}
