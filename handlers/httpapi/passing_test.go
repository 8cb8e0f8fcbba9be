package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

// passedOn is the header of requests between nodes.
const passedOn = "Vqa-Passed-On"

// TestRequestsThatNodesPassOn: a request with another node's statement needs no credential. It acts for the named caller
// and counts only toward that node's rate limits. A client cannot make a statement, and gains nothing by copying one to
// another request, node or time.
func TestRequestsThatNodesPassOn(t *testing.T) {
	t.Parallel()
	now, key, self := time.Now(), []byte("of all nodes"), ""
	node := func(key []byte) *edge.Passing {
		return edge.NewPassing(passedOn, key, self, func(*http.Request) string { return "client" }, func() time.Time { return now })
	}
	seen := make(chan *http.Request, 1)
	w := open(t, withSlots(1), func(o *httpapi.Options) {
		self = o.PublicURL
		o.Passing = node(key)
		o.Live.(*liveNode).reached = func(r *http.Request) { seen <- r }
	})
	c := w.customer(100)
	path := "/v1/streams/" + c.do(http.MethodPost, "/v1/streams", watch).at("id").(string) + "/events"
	got := c.do(http.MethodGet, path, "")
	require.Equal(t, "599", got.Header.Get("X-RateLimit-Remaining"))
	door := <-seen // the request of the client, on the node that passes it on
	sign := func(p *edge.Passing, method, url string) string {
		out := http.Header{}
		require.NoError(t, p.Sign(out, door, method, url))
		return out.Get(passedOn)
	}
	valid := sign(node(key), http.MethodGet, self+path)
	require.NotContains(t, valid, c.key.Secret)
	for range 3 {
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, path, "", passedOn, valid).StatusCode)
		owner := <-seen
		require.Equal(t, valid, owner.Header.Get(passedOn))
		caller, want := edge.ExchangeOf(owner.Context()).Caller, edge.ExchangeOf(door.Context()).Caller
		require.NotEqual(t, want.RequestID, caller.RequestID)
		want.RequestID = caller.RequestID
		require.Equal(t, want, caller)
	}
	require.Equal(t, "598", c.do(http.MethodGet, path, "").Header.Get("X-RateLimit-Remaining"), "the passed requests did not count")
	require.Empty(t, (<-seen).Header.Get(passedOn))

	forged := map[string]string{
		"text": "1", "empty": "", "a dot": ".", "another MAC": valid + "0", "no MAC": valid[:len(valid)-43],
		"another key": sign(node([]byte("of the attacker")), http.MethodGet, self+path), "another method": sign(node(key), http.MethodPost, self+path),
		"another path": sign(node(key), http.MethodGet, self+path+"/x"), "another node": sign(node(key), http.MethodGet, "http://192.0.2.1"+path),
	}
	now = now.Add(-31 * time.Second)
	forged["31 s old"] = sign(node(key), http.MethodGet, self+path)
	now = now.Add(31 * time.Second)
	for name, statement := range forged {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // the requests share a channel
			w.refused(w.do(http.MethodGet, path, "", passedOn, statement), http.StatusUnauthorized, fault.InvalidAPIKey, "")
			require.Equal(t, http.StatusOK, c.do(http.MethodGet, path, "", passedOn, statement).StatusCode)
			require.Empty(t, (<-seen).Header.Get(passedOn), "a statement that is not valid is removed")
		})
	}
}
