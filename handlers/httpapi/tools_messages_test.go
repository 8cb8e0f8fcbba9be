package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestToolsAnswerInAFormThatTheClientAccepts: several clients accept only JSON, only event streams, or say nothing.
func TestToolsAnswerInAFormThatTheClientAccepts(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	c := w.tester()
	for _, version := range append(versions, "") {
		for accept, want := range map[string]string{
			"application/json": "application/json", "": "application/json", "*/*": "application/json", "text/event-stream": "text/event-stream",
			"application/json, text/event-stream;q=0.9": "text/event-stream",
		} {
			r := c.message(t.Context(), version, "get_usage", call(version, "get_usage", "{}"))
			r.URL.Path += "/"
			r.Header.Del("Accept")
			if accept != "" {
				r.Header.Set("Accept", accept)
			}
			status, header, messages := c.post(r)
			require.Equal(t, http.StatusOK, status, "%s %q", version, accept)
			require.Equal(t, want, header.Get("Content-Type"), "%s %q", version, accept)
			require.NotEmpty(t, in(messages[0], "result.structuredContent.meters"))
		}
	}
	r := c.message(t.Context(), "", "", rpc("", "initialize", `"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}`))
	r.Header.Set("Accept", "application/json")
	status, _, messages := c.post(r)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "2025-06-18", in(messages[0], "result.protocolVersion"))
}

// TestToolsAnswerEachMessage: a message that nobody knows does not make the others fail, and each answer has its id.
func TestToolsAnswerEachMessage(t *testing.T) {
	t.Parallel()
	w := open(t, withTools)
	c := w.tester()
	post := func(version, accept, body string) (int, string) {
		r := c.message(t.Context(), version, "", body)
		r.Header.Set("Accept", accept)
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		raw, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		return got.StatusCode, string(raw)
	}
	for _, id := range []string{"1.5", "-7", "0", "1e3", "1.0", "-0", "9007199254740993", "123456789012345678901234567890", `"a"`, `""`, `"1.5"`} {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			for version, status := range map[string]int{"2024-11-05": 200, "2025-11-25": 200, "2026-07-28": 404} {
				got, text := post(version, accept, strings.Replace(rpc(version, "nothing", ""), `"id": 1`, `"id": `+id, 1))
				require.Equal(t, status, got, text)
				require.Contains(t, text, `"id":`+id+`,"error":{"code":-32601,"message":"`)
				require.Contains(t, text, `\"nothing\"`)
			}
			got, text := post("2025-06-18", accept, `{"jsonrpc": "2.0", "id": `+id+`, "method": "ping", "params": null}`)
			require.Equal(t, http.StatusOK, got, text)
			require.Contains(t, text, `"id":`+id+`,"result":{}`)
		}
	}
	got, text := post("2025-03-26", "application/json", `[{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "nothing"},
		{"jsonrpc": "2.0", "method": "notifications/nothing"}, {"jsonrpc": "2.0", "id": 3, "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 4, "method": "tools/call"}]`)
	require.Equal(t, http.StatusOK, got, text)
	var answers []map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &answers), text)
	codes := map[any]any{}
	for _, m := range answers {
		codes[m["id"]] = in(m, "error.code")
	}
	require.Equal(t, map[any]any{1.5: nil, 2.0: -32601.0, 3.0: -32601.0, 4.0: -32602.0}, codes)
	for _, body := range []string{`{"jsonrpc": "2.0", "method": "notifications/nothing"}`, `{"jsonrpc": "2.0", "method": "notifications/progress"}`} {
		for _, version := range versions[:4] {
			got, text = post(version, "application/json", body)
			require.Equal(t, http.StatusAccepted, got, text)
			require.Empty(t, text)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		r := c.message(t.Context(), "2025-11-25", "", "")
		r.Method = method
		status, header, messages := c.post(r)
		require.Equal(t, http.StatusMethodNotAllowed, status, "clients try GET and DELETE, and go on without")
		require.Equal(t, "POST", header.Get("Allow"))
		require.Equal(t, -32600.0, in(messages[0], "error.code"))
	}
	for body, want := range map[string]string{
		`{`: `-32700,"message":"The body is not valid JSON."},"id":null`, `{} {}`: `-32700`,
		`{"jsonrpc": "1.0", "id": 1.5, "method": "ping"}`:        `"id":1.5,`,
		`{"jsonrpc": "2.0", "id": null, "method": "ping"}`:       `-32600`,
		`{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}`:   `"id":null`,
		`{"jsonrpc": "2.0", "id": true, "method": "tools/list"}`: `"id":null`,
	} {
		got, text = post("2025-11-25", "application/json", body)
		require.Equal(t, http.StatusBadRequest, got, text)
		require.Contains(t, text, want)
	}
}
