package peer_test

import (
	"testing"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

func TestHints(t *testing.T) {
	t.Parallel()
	host, srflx, relay := webrtc.ICECandidateTypeHost, webrtc.ICECandidateTypeSrflx, webrtc.ICECandidateTypeRelay
	all := []webrtc.ICECandidateType{host, srflx, relay}
	for name, tt := range map[string]struct {
		evidence peer.Evidence
		want     string
	}{
		"pictures":             {peer.Evidence{State: peer.Connected, Offered: true, Packets: 9, Pictures: 1}, ""},
		"no media":             {peer.Evidence{State: peer.Connected, Offered: true}, "no video arrived"},
		"no keyframe":          {peer.Evidence{State: peer.Connected, Offered: true, Packets: 9}, "no complete keyframe"},
		"no offer":             {peer.Evidence{}, "sent no offer"},
		"refused by our TURN":  {peer.Evidence{Offered: true, Relay: "expired credentials"}, "refused the client: expired credentials"},
		"refused by a TURN":    {peer.Evidence{Offered: true, Errors: []peer.ClientError{{Code: 401}}}, "refused the credentials"},
		"only hidden names":    {peer.Evidence{Offered: true, Hidden: true}, ".local"},
		"nothing is reachable": {peer.Evidence{Offered: true, Errors: []peer.ClientError{{Code: 701}}}, "reached no STUN or TURN server"},
		"no candidates":        {peer.Evidence{Offered: true}, "sent no candidates"},
		"no DTLS":              {peer.Evidence{Offered: true, Candidates: all, Heard: true, Answered: true}, "encryption did not start"},
		"one direction":        {peer.Evidence{Offered: true, Candidates: all, Heard: true}, "in one direction"},
		"private address":      {peer.Evidence{Offered: true, Candidates: all, Listening: "10.0.0.2"}, "private address 10.0.0.2"},
		"UDP blocked":          {peer.Evidence{Offered: true, Private: all[:1], Errors: []peer.ClientError{{Code: 701}}}, "probably blocks UDP"},
		"no relay":             {peer.Evidence{Offered: true, Candidates: all[:2], Listening: "203.0.113.1"}, "sent no relay candidate"},
		"not even the relay":   {peer.Evidence{Offered: true, Candidates: all, Listening: "203.0.113.1"}, "not even over the relay"},
	} {
		hint := tt.evidence.Hint()
		require.Contains(t, hint, tt.want, name)
		require.Equal(t, tt.want == "", hint == "", name)
	}
}
