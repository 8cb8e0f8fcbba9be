package signal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/streaming/signal"
)

// FuzzFragment checks that what a WHIP client sends is refused with a fault, or changes no line of an offer
// except for the credentials and the candidates.
func FuzzFragment(f *testing.F) {
	f.Add("a=ice-ufrag:c1\r\na=ice-pwd:p\r\nm=video 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:2 1 udp 1 192.0.2.1 5001 typ host\r\na=end-of-candidates\r\n")
	f.Add("a=ice-ufrag:c1\na=ice-pwd:p\n")
	f.Add("\r\n\r\nm=\nm=\n")
	f.Add("a=ice-ufrag:x\ry\na=ice-pwd:z")
	f.Fuzz(func(t *testing.T, text string) {
		offer, credentials, err := signal.Restart(sdp("c"), text)
		if err != nil {
			require.NotNil(t, fault.Of(err))
			return
		}
		if !credentials {
			return
		}
		require.Equal(t, strings.Count(sdp("c"), "\n")-2, strings.Count(offer, "\n"))
		require.Equal(t, strings.Count(sdp("c"), "\r")-2, strings.Count(offer, "\r"))
	})
}

// FuzzConversation sends the lines of a text to a session, one after the other. The server must answer or
// close, and leave nothing behind.
func FuzzConversation(f *testing.F) {
	n := newNode(f, nil)
	s := n.open()
	f.Add("{\"type\":\"join\"}\n{\"type\":\"offer\",\"sdp\":\"x\"}\n{\"type\":\"ping\"}")
	f.Add("{\"type\":\"join\"}\n{\"type\":\"ice\",\"candidate\":null}\nx\n{\"type\":\"join\"}")
	f.Add(strings.Repeat("x\n", 12))
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "end") {
			return // the session is for all inputs
		}
		c := (&node{t: t, http: n.http}).dial()
		for line := range strings.Lines(text) {
			if c.conn.Write(t.Context(), 1, []byte(line)) != nil {
				break // it was closed
			}
		}
		_ = c.conn.CloseNow()
		wait(t, "the session is left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
	})
}
