package peer

import (
	"strings"
)

// Transport limits a connection to one way. It removes the candidates of the others from the offer and the
// answer, so that a test of one way cannot succeed by another one.
type Transport string

// The transports. With ViaRelay, only the relays of the client remain: it must send over them alone.
const (
	AnyTransport Transport = ""
	ViaUDP       Transport = "udp"
	ViaTCP       Transport = "tcp"
	ViaRelay     Transport = "relay"
)

// remote reports whether a candidate of the client may be used.
func (t Transport) remote(candidate string) bool {
	protocol, kind := describe(candidate)
	switch t {
	case ViaUDP:
		return protocol == "udp" && kind != "relay"
	case ViaTCP:
		return protocol == "tcp"
	case ViaRelay:
		return kind == "relay"
	default:
		return true
	}
}

// local reports whether the client gets a candidate of the service.
func (t Transport) local(candidate string) bool {
	protocol, _ := describe(candidate)
	switch t {
	case ViaUDP, ViaRelay: // relays send to the UDP port
		return protocol == "udp"
	case ViaTCP:
		return protocol == "tcp"
	default:
		return true
	}
}

// describe returns the protocol and the type of a candidate.
func describe(candidate string) (protocol, kind string) {
	fields := strings.Fields(candidate)
	if len(fields) < 8 {
		return "", ""
	}
	return strings.ToLower(fields[2]), fields[7]
}

// filter removes the candidates from a session description that keep refuses.
func filter(sdp string, keep func(candidate string) bool) string {
	var kept strings.Builder
	for line := range strings.Lines(sdp) {
		if candidate, is := strings.CutPrefix(line, "a=candidate:"); is && !keep(strings.TrimRight(candidate, "\r\n")) {
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// Reached says by which ways checks of the client were answered in both directions.
type Reached struct{ UDP, TCP, Relay bool }

// Reached returns the ways that work. It knows those that the client has tried.
func (d Diagnostics) Reached() (r Reached) {
	kinds := map[string]string{} // of the client's candidates, by their address
	for _, c := range d.Remote {
		if f := strings.Fields(c); len(f) == 3 {
			way := f[0]
			if f[2] == "relay" {
				way = f[2]
			}
			kinds[f[1]] = way
		}
	}
	for _, pair := range d.Pairs {
		ends, worked := strings.CutSuffix(pair, " succeeded")
		_, remote, _ := strings.Cut(ends, " - ")
		if !worked {
			continue
		}
		switch kinds[remote] {
		case "udp":
			r.UDP = true
		case "tcp":
			r.TCP = true
		case "relay":
			r.Relay = true
		}
	}
	return r
}
