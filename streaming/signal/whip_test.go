package signal_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/signal"
)

var (
	sdpType      = http.Header{"Content-Type": {"application/sdp"}}
	fragmentType = "application/trickle-ice-sdpfrag"
)

// sdp returns a description with ICE credentials.
func sdp(ufrag string) string {
	return "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\n" +
		"a=ice-ufrag:" + ufrag + "\r\na=ice-pwd:p" + ufrag + "\r\na=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\na=end-of-candidates\r\n"
}

func TestWHIP(t *testing.T) {
	t.Parallel()
	owner, door := newNode(t, nil), newNode(t, nil)
	door.streams.put(streamID, signal.Place{Node: owner.http.URL})
	for name, n := range map[string]*node{"the owner": owner, "another node": door} {
		s := owner.open()
		answers := 0
		s.answer = func(string) (string, error) { answers++; return sdp(fmt.Sprintf("s%d", answers)), nil }
		status, body, header := n.request(http.MethodPost, "whip", sdp("c1"), sdpType)
		require.Equal(t, http.StatusCreated, status, name+body)
		require.Equal(t, sdp("s1"), body)
		require.Equal(t, "application/sdp", header.Get("Content-Type"))
		require.Equal(t, "/v1/streams/"+streamID+"/whip", header.Get("Location"))
		require.Equal(t, []string{
			`<turn:a:1>; rel="ice-server"; username="1:\"x\""; credential="s"; credential-type="password"`,
			`<turn:a:1?transport=tcp>; rel="ice-server"; username="1:\"x\""; credential="s"; credential-type="password"`,
			`<stun:b:2>; rel="ice-server"`,
		}, header.Values("Link"))
		tag := header.Get("ETag")
		require.Regexp(t, `^"[\w-]{16}"$`, tag)

		status, body, _ = n.request(http.MethodPatch, "whip", "a=ice-ufrag:c1\r\na=ice-pwd:pc1\r\nm=video 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:2 1 udp 1 192.0.2.1 5001 typ host\r\na=end-of-candidates\r\n",
			http.Header{"Content-Type": {fragmentType}, "If-Match": {tag}})
		require.Equal(t, http.StatusNoContent, status, body)
		require.Equal(t, []message.Candidate{{Candidate: "candidate:2 1 udp 1 192.0.2.1 5001 typ host", SDPMid: new("0"), SDPMLineIndex: new(uint16(0))}, {}}, s.candidates)

		status, body, header = n.request(http.MethodPatch, "whip", "a=ice-ufrag:c2\r\na=ice-pwd:pc2\r\na=candidate:3 1 udp 1 192.0.2.1 5002 typ host\r\n",
			http.Header{"Content-Type": {fragmentType}, "If-Match": {"*"}})
		require.Equal(t, http.StatusOK, status, body)
		require.Equal(t, fragmentType, header.Get("Content-Type"))
		require.NotEqual(t, tag, header.Get("ETag"))
		require.Equal(t, "a=ice-ufrag:s2\r\na=ice-pwd:ps2\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\na=end-of-candidates\r\n", body)
		again := strings.ReplaceAll(sdp("c2"), "a=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\na=end-of-candidates\r\n", "")
		require.Equal(t, []string{"whip " + sdp("c1"), "whip " + again}, s.offers)
		require.Len(t, s.candidates, 3)

		status, _, _ = n.request(http.MethodPatch, "whip", "a=candidate:4 1 udp 1 192.0.2.1 5002 typ host\r\n", http.Header{"Content-Type": {fragmentType}, "If-Match": {tag}})
		require.Equal(t, http.StatusPreconditionFailed, status, "the tag of the ICE session before the restart")

		status, _, _ = n.request(http.MethodDelete, "whip", "", nil)
		require.Equal(t, http.StatusOK, status)
		require.True(t, s.over())
	}
	owner.streams.put(streamID, signal.Place{Ended: stream.Completed})
	status, _, _ := door.request(http.MethodDelete, "whip", "", nil)
	require.Equal(t, http.StatusOK, status, "a repeated DELETE")
}

func TestWHIPIsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	check := func(status int, text, method, body string, header http.Header) {
		t.Helper()
		got, answer, _ := n.request(method, "whip", body, header)
		require.Equal(t, status, got, answer)
		require.Contains(t, answer, text)
	}
	check(http.StatusNotFound, "resource_not_found", http.MethodPost, "v=0", sdpType)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 3, EstimatedStartS: new(20)}})
	check(http.StatusServiceUnavailable, "position 3", http.MethodPost, "v=0", sdpType)
	n.streams.put(streamID, signal.Place{})
	check(http.StatusServiceUnavailable, "being opened", http.MethodPost, "v=0", sdpType)
	n.streams.put(streamID, signal.Place{Ended: stream.Timeout})
	check(http.StatusConflict, "timeout", http.MethodPost, "v=0", sdpType)
	s := n.open()
	check(http.StatusUnsupportedMediaType, "application/sdp", http.MethodPost, "v=0", http.Header{"Content-Type": {"text/plain"}})
	check(http.StatusBadRequest, "empty", http.MethodPost, "", sdpType)
	check(http.StatusRequestEntityTooLarge, "65536", http.MethodPost, strings.Repeat("x", message.MaxOffer+1), sdpType)
	check(http.StatusMethodNotAllowed, "PUT", http.MethodPut, "", nil)
	patch := func(match string) http.Header {
		return http.Header{"Content-Type": {fragmentType}, "If-Match": {match}}
	}
	check(http.StatusNotFound, "no WHIP session", http.MethodPatch, "", patch("*"))
	s.answer = func(string) (string, error) { return "", fault.New(fault.ValidationFailed, "no usable codec") }
	check(http.StatusBadRequest, "no usable codec", http.MethodPost, "v=0", sdpType)
	check(http.StatusNotFound, "no WHIP session", http.MethodPatch, "", patch("*"))

	s.answer = func(string) (string, error) { return sdp("s"), nil }
	_, _, header := n.request(http.MethodPost, "whip", sdp("c"), sdpType)
	tag := header.Get("ETag")
	check(http.StatusPreconditionRequired, "If-Match", http.MethodPatch, "", http.Header{"Content-Type": {fragmentType}})
	check(http.StatusPreconditionFailed, "If-Match", http.MethodPatch, "", patch(`"x"`))
	check(http.StatusPreconditionFailed, "If-Match", http.MethodPatch, "a=candidate:x\r\n", patch("*"))
	check(http.StatusUnsupportedMediaType, fragmentType, http.MethodPatch, "", sdpType)
	check(http.StatusBadRequest, "malformed", http.MethodPatch, "hello\r\n", patch(tag))
	check(http.StatusBadRequest, "both", http.MethodPatch, "a=ice-ufrag:x\r\n", patch(tag))
	check(http.StatusRequestEntityTooLarge, "16384", http.MethodPatch, strings.Repeat("x", 1<<15), patch(tag))
	require.Empty(t, read(s, func() []message.Candidate { return s.candidates }))
	s.finish(stream.Completed)
	n.open()
	wait(t, "the session is forgotten", func() bool {
		status, _, _ := n.request(http.MethodPatch, "whip", "", patch(tag))
		return status == http.StatusNotFound
	})
}

func TestDeleteInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	status, _, _ := n.request(http.MethodDelete, "whip", "", nil)
	require.Equal(t, http.StatusOK, status)
	p, err := n.streams.Place(t.Context(), streamID)
	require.NoError(t, err)
	require.Equal(t, stream.Canceled, p.Ended)
}

// events opens the event stream of the stream. next returns the next event, without comments, or "" at the
// end.
func (n *node) events(lastID string) (next func() string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("events"), http.NoBody)
	require.NoError(n.t, err)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { cancel(); _ = response.Body.Close() })
	require.Equal(n.t, http.StatusOK, response.StatusCode)
	require.Equal(n.t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	return func() string {
		var event []string
		for lines.Scan() {
			line := lines.Text()
			switch {
			case line == "" && len(event) > 0:
				return strings.Join(event, "\n")
			case line != "" && line != ":" && !strings.HasPrefix(line, "retry:"):
				event = append(event, line)
			}
		}
		return ""
	}
}

func result(seq int64) message.Result { return message.Result{Seq: seq, Answer: "yes"} }

func resultEvent(seq int64) string {
	return fmt.Sprintf("event: result\nid: %d\ndata: {\"type\":\"result\",\"seq\":%d,\"t_s\":0,\"answer\":\"yes\",\"confidence\":0,\"detected_count\":null,\"indeterminate_reason\":null,\"detections\":[]}", seq, seq)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	owner, door := newNode(t, nil), newNode(t, nil)
	door.streams.put(streamID, signal.Place{Node: owner.http.URL})
	for name, n := range map[string]*node{"the owner": owner, "another node": door} {
		s := owner.open()
		s.send(result(1))
		s.send(result(2))
		all, rest := n.events(""), n.events("1")
		require.Equal(t, resultEvent(1), all(), name)
		require.Equal(t, resultEvent(2), all())
		require.Equal(t, resultEvent(2), rest())
		s.send(message.Warning{RemainingS: 9})
		s.send(result(3))
		s.finish(stream.Completed)
		for _, next := range []func() string{all, rest} {
			require.Equal(t, "event: warning\ndata: {\"type\":\"warning\",\"remaining_s\":9}", next())
			require.Equal(t, resultEvent(3), next())
			require.Equal(t, "event: end\ndata: {\"type\":\"end\",\"reason\":\"completed\"}", next())
			require.Empty(t, next())
		}
		require.Zero(t, s.joins, "a reader is not a client")
		wait(t, "the subscriptions are closed", func() bool { return read(s, func() int { return len(s.queues) }) == 0 })
	}
}

func TestEventsInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	next := n.events("")
	require.Equal(t, "event: queued\ndata: {\"type\":\"queued\",\"position\":1,\"estimated_start_s\":null}", next())
	n.open().send(result(1))
	require.Equal(t, resultEvent(1), next())
	n.streams.put(streamID, signal.Place{Ended: stream.Failed})
	next = n.events("")
	require.Equal(t, "event: end\ndata: {\"type\":\"end\",\"reason\":\"error\"}", next())
	require.Empty(t, next())
	status, body, _ := n.request(http.MethodGet, "events", "", http.Header{"Last-Event-Id": {"x"}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "seq")
}

func TestEventsEndWithTheServer(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.open()
	next := n.events("")
	require.NoError(t, n.server.Close(t.Context()))
	require.Empty(t, next())
}
