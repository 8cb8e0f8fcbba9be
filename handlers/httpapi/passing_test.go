package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

// passedOn is the header of the marks of these tests.
const passedOn = "Vqa-Passed-On"

// TestRequestsThatNodesPassOn: a request with the mark of another node counts for the rate limits there only. A client
// cannot make a mark, and gains nothing with one of another request.
func TestRequestsThatNodesPassOn(t *testing.T) {
	t.Parallel()
	var passing *edge.Passing
	now := time.Now()
	node := func(key string) *edge.Passing {
		return edge.NewPassing(passedOn, []byte(key), func(*http.Request) string { return "client" }, func() time.Time { return now })
	}
	passing = node("of all nodes")
	seen := make(chan string, 1)
	w := open(t, withSlots(1), func(o *httpapi.Options) {
		o.Passing = passing
		o.Live.(*liveNode).reached = func(r *http.Request) { seen <- r.Header.Get(passedOn) }
	})
	c := w.customer(100)
	path := "/v1/streams/" + c.do(http.MethodPost, "/v1/streams", watch).at("id").(string) + "/events"
	credential := http.Header{"Authorization": {"Bearer " + c.key.Secret}}
	mark := func(p *edge.Passing, change func(h http.Header), method, path string) string {
		h := credential.Clone()
		if change != nil {
			change(h)
		}
		p.Mark(h, nil, method, path)
		return h.Get(passedOn)
	}
	other := func(h http.Header) { h.Set("Authorization", "Bearer other") }
	valid := mark(passing, nil, http.MethodGet, path)
	old := now
	now = now.Add(-31 * time.Second)
	stale := mark(passing, nil, http.MethodGet, path)
	now = old
	remaining := func(marks ...string) string {
		var headers []string
		for _, m := range marks {
			headers = append(headers, passedOn, m)
		}
		got := c.do(http.MethodGet, path, "", headers...)
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		return got.Header.Get("X-RateLimit-Remaining")
	}
	require.Equal(t, "599", remaining())
	require.Empty(t, <-seen)
	for range 3 {
		remaining(valid)
		require.Equal(t, valid, <-seen)
	}
	require.Equal(t, "598", remaining(), "the marked requests did not count")
	require.Empty(t, <-seen)
	left := []string{"597", "596", "595", "594", "593", "592", "591", "590"}
	for i, forged := range []string{
		"1", "", ":::", stale, valid + "0", mark(node("of the attacker"), nil, http.MethodGet, path),
		mark(passing, other, http.MethodGet, path), mark(passing, nil, http.MethodGet, path+"/x"),
	} {
		require.Equal(t, left[i], remaining(forged), "%d: %s", i, forged)
		require.Empty(t, <-seen, "%d: a mark that is not valid is removed", i)
	}
}
