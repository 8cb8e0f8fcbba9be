package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/id"
)

// takesID is an operation of the contract that names a resource of an account.
type takesID struct{ method, path, kind, body, contentType string }

// operationsTakingIDs reads them from the contract, so that the tests cover new operations. They
// fail for an operation whose kind they do not know.
func operationsTakingIDs(t *testing.T) []takesID {
	t.Helper()
	kinds := map[string]string{"videos": "video", "analyses": "an", "api-keys": "key", "events": "evt", "webhook_endpoints": "we", "streams": "st", "credits": "txn"}
	var all []takesID
	for _, o := range operations(t) {
		_, rest, private := strings.Cut(o.path, "/v1/")
		if strings.HasPrefix(rest, "demo-videos/") || !private || !strings.Contains(rest, "{id}") {
			continue
		}
		segment, _, _ := strings.Cut(rest, "/")
		require.Contains(t, kinds, segment, "%s has an id of a kind that this test does not know", o.path)
		if o.id == "signalStream" {
			continue // it takes no API key; TestStreamClientsAreAuthorized covers it
		}
		body, contentType := "", "application/json"
		if o.method == http.MethodPatch {
			body = `{}`
		}
		if o.id == "redeliverWebhookDeliveries" {
			body = `{"created_after": "2026-11-22T00:00:00Z"}`
		}
		switch o.id {
		case "createWHIPSession":
			body, contentType = "v=0", "application/sdp"
		case "updateWHIPSession":
			body, contentType = "a=end-of-candidates", "application/trickle-ice-sdpfrag"
		}
		path := strings.NewReplacer("{id}", "%s", "{delivery_id}", "whd_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1D").Replace(o.path)
		all = append(all, takesID{o.method, path, kinds[segment], body, contentType})
	}
	require.NotEmpty(t, all)
	return all
}

// TestIdsOfAnotherAccountReadAsUnknown: for every operation on an id, the id of another account
// and an unknown id get the same body (docs/contract.md#tenancy). They also take the same number
// of round trips to the database, which determine the response time.
func TestIdsOfAnotherAccountReadAsUnknown(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner, stranger, tester := w.customer(100), w.customer(100), w.tester()
	videoID := owner.ready()
	analysisID := owner.ask(videoID, "Is there a dog?")
	w.wake()
	events, _ := owner.do(http.MethodGet, "/v1/events", "").at("data").([]any)
	require.NotEmpty(t, events)
	own := map[string]string{
		"video": videoID, "an": analysisID, "key": owner.key.KeyID, "evt": events[0].(map[string]any)["id"].(string),
		"we":  owner.endpoint(`{}`).at("id").(string),
		"st":  owner.do(http.MethodPost, "/v1/streams", watch).at("id").(string),
		"txn": owner.do(http.MethodGet, "/v1/credits", "").at("transactions").([]any)[0].(map[string]any)["id"].(string),
	}
	for _, op := range operationsTakingIDs(t) {
		unknown := id.NewSource(time.Now, strings.NewReader(strings.Repeat("x", 64))).New(id.Prefix(op.kind))
		for _, c := range []*client{stranger, tester} {
			foreign := c.do(op.method, fmt.Sprintf(op.path, own[op.kind]), op.body, "Content-Type", op.contentType)
			absent := c.do(op.method, fmt.Sprintf(op.path, unknown), op.body, "Content-Type", op.contentType)
			w.refused(foreign, 404, fault.ResourceNotFound, "")
			w.refused(absent, 404, fault.ResourceNotFound, "")
			require.Equal(t, said(foreign, own[op.kind]), said(absent, unknown), op)
			require.Equal(t, "id", foreign.at("error.param"), "the field is named")
			require.Contains(t, foreign.at("error.message"), own[op.kind], "the id is named")
			require.Equal(t, names(foreign.Header), names(absent.Header), op)
			require.Equal(t, c.asks(op.method, fmt.Sprintf(op.path, unknown), op.body, "Content-Type", op.contentType), c.asks(op.method, fmt.Sprintf(op.path, own[op.kind]), op.body, "Content-Type", op.contentType), "%v", op)
		}
		for _, malformed := range []string{"x", "video_", "%00", "%ff", "..%2f", strings.Repeat("v", 300)} {
			w.refused(owner.do(op.method, fmt.Sprintf(op.path, malformed), op.body, "Content-Type", op.contentType), 404, fault.ResourceNotFound, "")
		}
	}
	require.Equal(t, "queued", owner.do(http.MethodGet, "/v1/analyses/"+analysisID, "").at("status"))
	require.Equal(t, http.StatusOK, owner.do(http.MethodGet, "/v1/videos", "").StatusCode, "the owner's key is not revoked")
}

// TestIdsInBodiesAndParametersRevealNothing checks the same for ids in bodies and parameters.
func TestIdsInBodiesAndParametersRevealNothing(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	owner, stranger := w.customer(100), w.customer(100)
	videoID := owner.ready()
	analysisID := owner.ask(videoID, "Is there a dog?")
	absent := func(kind id.Prefix) string {
		return id.NewSource(time.Now, strings.NewReader(strings.Repeat("x", 64))).New(kind)
	}
	for _, tt := range []struct {
		method, path, body, own, absent string
	}{
		{http.MethodPost, "/v1/analyses", `{"video_id": "%s", "prompt": "Is there a dog?"}`, videoID, absent(id.Video)},
		{http.MethodPost, "/v1/analyses/batch", `{"video_id": "%s", "prompts": ["Is there a dog?", "Is there a cat?"]}`, videoID, absent(id.Video)},
		{http.MethodPost, "/v1/client_tokens", `{"video_id": "%s", "scopes": ["analyses:read"]}`, videoID, absent(id.Video)},
		{http.MethodPost, "/v1/client_tokens", `{"stream_id": "%s", "scopes": ["streams:signal"]}`, owner.watching(), absent(id.Stream)},
		{http.MethodGet, "/v1/videos?starting_after=%s", "", videoID, absent(id.Video)},
		{http.MethodGet, "/v1/analyses?ending_before=%s", "", analysisID, absent(id.Analysis)},
		{http.MethodGet, "/v1/api-keys?starting_after=%s", "", owner.key.KeyID, absent(id.Key)},
		{http.MethodGet, "/v1/webhook_endpoints?starting_after=%s", "", owner.endpoint(`{}`).at("id").(string), absent(id.Webhook)},
		{http.MethodGet, "/v1/events?starting_after=%s", "", absent(id.Event), absent(id.Event)},
	} {
		ask := func(id string) response {
			return stranger.do(tt.method, strings.ReplaceAll(tt.path, "%s", id), strings.ReplaceAll(tt.body, "%s", id))
		}
		foreign, none := ask(tt.own), ask(tt.absent)
		w.refused(foreign, 404, fault.ResourceNotFound, "")
		w.refused(none, 404, fault.ResourceNotFound, "")
		require.Equal(t, said(foreign, tt.own), said(none, tt.absent), tt.path)
		require.Contains(t, foreign.at("error.message"), tt.own)
		require.Contains(t, tt.path+tt.body, foreign.at("error.param"), "the field is named")
		if tt.method == http.MethodGet {
			w.refused(owner.testKey().do(tt.method, strings.ReplaceAll(tt.path, "%s", tt.own), ""), 404, fault.ResourceNotFound, "")
		}
	}
	require.Empty(t, stranger.do(http.MethodGet, "/v1/analyses?video_id="+videoID, "").at("data"))
	require.Empty(t, stranger.do(http.MethodGet, "/v1/events?resource_id="+videoID, "").at("data"))
}

// said returns the body of a response without the id that the caller chose and without the
// request id.
func said(got response, id string) string {
	requestID, _ := got.at("error.request_id").(string)
	return strings.NewReplacer(id, "ID", requestID, "REQUEST").Replace(string(got.raw))
}

// asks counts the round trips to the database for a request: the least of several tries, because
// the first one on a connection also prepares statements.
func (c *client) asks(method, path, body string, headers ...string) int64 {
	c.w.t.Helper()
	least := int64(1 << 62)
	for range 4 {
		before := c.w.database.trips.Load()
		c.do(method, path, body, headers...)
		least = min(least, c.w.database.trips.Load()-before)
	}
	require.Positive(c.w.t, least)
	return least
}

// names returns the names of headers.
func names(h http.Header) []string {
	var all []string
	for name := range h {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
