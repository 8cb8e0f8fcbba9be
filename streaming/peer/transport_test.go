package peer_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

// TestTransports connects over one way each: the offer has the candidates of all, and the report names the one that
// worked. A way that the client cannot use fails, although others work.
func TestTransports(t *testing.T) {
	t.Parallel()
	all := []webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeTCP4}
	for name, tt := range map[string]struct {
		transport peer.Transport
		networks  []webrtc.NetworkType
		relayed   bool
		public    netip.Addr
		want      peer.Reached
		fails     bool
	}{
		"udp":                   {transport: peer.ViaUDP, networks: all, want: peer.Reached{UDP: true}},
		"tcp":                   {transport: peer.ViaTCP, networks: []webrtc.NetworkType{webrtc.NetworkTypeTCP4}, want: peer.Reached{TCP: true}},
		"relay":                 {transport: peer.ViaRelay, networks: all, relayed: true, want: peer.Reached{Relay: true}},
		"no tcp":                {transport: peer.ViaTCP, networks: []webrtc.NetworkType{webrtc.NetworkTypeUDP4}, fails: true},
		"no udp":                {transport: peer.ViaUDP, networks: []webrtc.NetworkType{webrtc.NetworkTypeTCP4}, fails: true},
		"any, direct":           {networks: []webrtc.NetworkType{webrtc.NetworkTypeUDP4}, want: peer.Reached{UDP: true}},
		"any, by a relay":       {networks: all, relayed: true, want: peer.Reached{Relay: true}},
		"a relay, behind a NAT": {networks: all, relayed: true, public: netip.MustParseAddr("203.0.113.7"), want: peer.Reached{Relay: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInternet(t, nil)
			var s *peer.Server
			o := clientOptions{configure: func(s *webrtc.SettingEngine) { s.SetNetworkTypes(tt.networks) }}
			switch {
			case tt.public.IsValid():
				s = listen(t, peer.Options{PublicIP: tt.public, Relay: &peer.RelayOptions{Address: loopback, Host: "127.0.0.1", Secret: []byte("secret")}})
			case tt.relayed:
				s = listen(t, n.options())
				o.net = n.client
			default:
				s = listen(t, peer.Options{ConnectTimeout: 3 * time.Second})
			}
			if tt.relayed {
				o.config = webrtc.Configuration{ICETransportPolicy: webrtc.ICETransportPolicyRelay, ICEServers: webrtcServers(s.ICEServers("st_1", time.Hour, false))}
			}
			got := newSink()
			session := got.session("st_1")
			session.Transport = tt.transport
			p := open(t, s, session)
			c := newClient(t, o)
			c.join(t, p)
			if tt.public.IsValid() {
				require.Regexp(t, tt.public.String()+` \d+ typ relay`, c.pc.LocalDescription().SDP)
			}
			if tt.fails {
				got.waitState(t, peer.Failed)
			} else {
				got.waitState(t, peer.Connected)
			}
			require.Equal(t, tt.want, p.Diagnostics().Reached())
		})
	}
}
