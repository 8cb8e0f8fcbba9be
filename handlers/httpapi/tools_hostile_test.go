package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestToolsRefuseHostileMessages sends messages that exhaust a careless decoder. The process must live and
// answer the next one.
func TestToolsRefuseHostileMessages(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	c := w.tester()
	const deep = 250_000
	nested := func(open, inner, shut string) string {
		return strings.Repeat(open, deep) + inner + strings.Repeat(shut, deep)
	}
	long := strings.Repeat("x", 900_000)
	for name, body := range map[string]string{
		"lists":              strings.Repeat("[", 1<<20),
		"closed lists":       nested("[", "", "]"),
		"lists in arguments": call("", "create_analysis", `{"prompt": `+nested("[", "", "]")+`}`),
		"objects":            call("", "create_analysis", `{"query": `+strings.Repeat(`{"a":`, 100_000)+"1"+strings.Repeat("}", 100_000)+`}`),
		"a path":             call("", "get_video", `{"video_id": "`+long+`"}`),
		"an argument":        call("", "get_video", `{"`+long+`": 1}`),
		"many arguments":     call("", "get_video", `{"video_id": "x"`+strings.Repeat(`, "a": 1`, 100_000)+`}`),
		"a method":           rpc("", long, ""),
		"a tool":             call("", long, "{}"),
		"many messages":      "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/initialized"},`, 15_000) + `{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"unknown ids":        `{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"}`,
		"a response":         `{"jsonrpc": "2.0", "id": 1, "result": {}}`,
	} {
		r := c.message(t.Context(), "", "", body)
		started := time.Now()
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err, name)
		require.NoError(t, got.Body.Close(), name)
		require.Less(t, got.StatusCode, 500, name)
		t.Log(name, got.StatusCode, time.Since(started))
	}
	status, _, messages := c.post(c.message(t.Context(), "", "", rpc("", "tools/list", "")))
	require.Equal(t, http.StatusOK, status)
	require.Len(t, in(messages[0], "result.tools"), 14)
}
