package peer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/pion/webrtc/v4"

	"vqa/streaming/assemble"
)

// maxClientErrors bounds the errors that a client reports.
const maxClientErrors = 16

// ClientError is an RTCPeerConnectionIceErrorEvent. The service cannot see these errors itself.
type ClientError struct {
	URL  string `json:"url"`
	Code int    `json:"errorCode"`
	Text string `json:"errorText"`
}

// Diagnostics describe why a connection works or does not.
type Diagnostics struct {
	State State
	// Local and Remote are the candidates of the service and of the client, such as
	// "udp 192.0.2.1:5000 host". The client's include addresses that the service discovered.
	Local, Remote []string
	// Pairs are the paths that were tried, such as "192.0.2.1:5000 - 198.51.100.7:6000 failed".
	Pairs []string
	// Media are the counts of packets and pictures.
	Media assemble.Counts
	// Hint names the likely cause of a failure and what to do. It is empty while pictures arrive.
	Hint string
}

// Report keeps errors that the client saw, the first 16.
func (p *Peer) Report(errors ...ClientError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range errors {
		if len(p.errors) < maxClientErrors {
			e.URL, e.Text = e.URL[:min(len(e.URL), 200)], e.Text[:min(len(e.Text), 200)]
			p.errors = append(p.errors, e)
		}
	}
}

// Diagnostics returns the candidates and the likely cause of a failure. Call it before Close.
func (p *Peer) Diagnostics() Diagnostics {
	e := evidence{state: p.State(), listening: p.server.host().String(), unchecked: p.unchecked.Load()}
	p.mu.Lock()
	e.media, e.errors, e.relay = p.counts, slices.Clone(p.errors), p.relay
	e.offered = p.pc.RemoteDescription() != nil
	p.mu.Unlock()
	if d := p.pc.RemoteDescription(); d != nil {
		e.hidden = strings.Contains(d.SDP, ".local ")
	}
	d := Diagnostics{State: e.state, Media: e.media}
	names := map[string]string{}
	report := p.pc.GetStats()
	for _, s := range report {
		c, ok := s.(webrtc.ICECandidateStats)
		if !ok {
			continue
		}
		names[c.ID] = netipPort(c)
		if a, err := netip.ParseAddr(c.IP); err == nil && p.server.relay.gave(p.session.Relay, int(c.Port)) && p.server.here(plain(a)) {
			c.CandidateType = webrtc.ICECandidateTypeRelay // behind a NAT, the client knows it by another address
		}
		text := fmt.Sprintf("%s %s %s", c.Protocol, netipPort(c), c.CandidateType)
		if c.Type == webrtc.StatsTypeLocalCandidate {
			d.Local = append(d.Local, text)
			continue
		}
		d.Remote = append(d.Remote, text)
		e.remote = append(e.remote, remote{c.CandidateType, private(c.IP)})
	}
	for _, s := range report {
		if pair, ok := s.(webrtc.ICECandidatePairStats); ok {
			d.Pairs = append(d.Pairs, fmt.Sprintf("%s - %s %s", names[pair.LocalCandidateID], names[pair.RemoteCandidateID], pair.State))
			e.heard = e.heard || pair.RequestsReceived > 0
			e.answered = e.answered || pair.ResponsesReceived > 0
		}
	}
	slices.Sort(d.Local)
	slices.Sort(d.Remote)
	slices.Sort(d.Pairs)
	d.Hint = e.hint()
	return d
}

func netipPort(c webrtc.ICECandidateStats) string {
	if a, err := netip.ParseAddr(c.IP); err == nil {
		return netip.AddrPortFrom(a, uint16(c.Port)).String() //nolint:gosec // a port
	}
	return fmt.Sprintf("%s:%d", c.IP, c.Port)
}

func private(ip string) bool {
	a, err := netip.ParseAddr(ip)
	return err == nil && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast())
}

// remote is a candidate of the client.
type remote struct {
	kind    webrtc.ICECandidateType
	private bool
}

// evidence is what the service knows about a connection.
type evidence struct {
	state     State
	listening string // the address of the service in its candidates
	offered   bool   // the client sent an offer
	hidden    bool   // it sent candidates with names that only its own network resolves
	unchecked bool   // it sent candidates with addresses that get no checks
	remote    []remote
	heard     bool // checks of the client arrived
	answered  bool // the client answered checks
	errors    []ClientError
	relay     string // why the TURN server refused it
	media     assemble.Counts
}

// Codes of RTCPeerConnectionIceErrorEvent.
const (
	errorUnauthorized = 401
	errorUnreachable  = 701
)

// hint names the likely cause of a failure. The order is from the surest sign to the weakest.
func (e evidence) hint() string {
	has := func(kind webrtc.ICECandidateType) bool {
		return slices.ContainsFunc(e.remote, func(r remote) bool { return r.kind == kind })
	}
	failed := func(code int) bool {
		return slices.ContainsFunc(e.errors, func(c ClientError) bool { return c.Code == code })
	}
	switch {
	case e.media.Pictures > 0:
		return ""
	case e.state == Connected && e.media.Packets == 0:
		return "The connection works, but no video arrived. Check that the camera is on and the track is enabled."
	case e.state == Connected:
		return "The connection works and video arrived, but no complete keyframe did. Lower the bit rate, or let the encoder send keyframes on request (PLI)."
	case !e.offered:
		return "The client sent no offer."
	case e.relay != "":
		return "The TURN server refused the client: " + e.relay + ". Use the ice_servers of the latest ready message."
	case failed(errorUnauthorized):
		return "A TURN server refused the credentials of the client. Use the ice_servers of the latest ready message."
	case len(e.remote) == 0 && e.hidden:
		return "The client only sent addresses with names ending in .local, which its browser hides until it may use a camera. Ask for the camera first, or use the TURN server of ice_servers."
	case len(e.remote) == 0 && e.unchecked:
		return "The client only sent addresses of a private network or of the service's own machine, which the service does not try, and no packet of it arrived. Use the STUN or TURN servers of ice_servers, and allow UDP in the firewall."
	case len(e.remote) == 0 && failed(errorUnreachable):
		return "The client reached no STUN or TURN server and sent no candidates. Its network blocks UDP and the TURN port: try TURN over TCP, or another network."
	case len(e.remote) == 0:
		return "The client sent no candidates. Send each icecandidate event as an ice message, and check that its ICE policy allows more than relays without a TURN server."
	case e.heard && e.answered:
		return "A path was found, but encryption did not start. A firewall may drop DTLS, or the fingerprint in the SDP was changed on the way."
	case e.heard:
		return "Packets of the client arrived, but the answers did not reach it. A firewall drops UDP in one direction: allow UDP from the service, or use TURN over TCP."
	case private(e.listening) && !allPrivate(e.remote):
		return "The service announces the private address " + e.listening + ", which clients outside its network cannot reach. Configure its public address."
	case !has(webrtc.ICECandidateTypeRelay) && failed(errorUnreachable):
		return "The client could not reach the STUN or TURN servers, and no direct path works. Its network probably blocks UDP: allow it, or use TURN over TCP."
	case !has(webrtc.ICECandidateTypeRelay):
		return "No direct path works and the client sent no relay candidate. Pass ice_servers to the RTCPeerConnection, and allow UDP or the TURN port in the firewall."
	default:
		return "No path works, not even over the relay. A firewall between the relay and the service probably drops the packets."
	}
}

func allPrivate(all []remote) bool {
	return !slices.ContainsFunc(all, func(r remote) bool { return !r.private })
}
