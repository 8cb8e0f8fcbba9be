package peer

import (
	"net/netip"
	"time"

	"github.com/pion/transport/v5/stdnet"
	"github.com/pion/webrtc/v4"
)

// CheckOffer exports checkOffer.
var CheckOffer = checkOffer

// Relay exports relay.
type Relay = relay

// NewRelay starts a relay to one address, which clients know by another name.
func NewRelay(o RelayOptions, name, media netip.AddrPort, now func() time.Time, refused func(id, reason string)) (*Relay, error) {
	machine, err := stdnet.NewNet()
	if err != nil {
		return nil, err
	}
	ways := routes{map[netip.AddrPort]netip.AddrPort{name: media}, map[netip.AddrPort]netip.AddrPort{media: name}, name.Addr()}
	return newRelay(o, machine, ways, now, refused)
}

// Server returns the entry for a client.
func (r *relay) Server(id string, until time.Time) ICEServer {
	return signed([]string{"turn:" + r.address.String()}, r.options.Secret, id, until)
}

// Allocations returns the number of open allocations.
func (r *relay) Allocations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// Evidence describes a connection for Hint.
type Evidence struct {
	State                            State
	Listening                        string
	Offered, Hidden, Heard, Answered bool
	Candidates                       []webrtc.ICECandidateType // with public addresses
	Private                          []webrtc.ICECandidateType // with private ones
	Errors                           []ClientError
	Relay                            string
	Packets, Pictures                int64
}

// Hint exports hint.
func (e Evidence) Hint() string {
	inner := evidence{
		state: e.State, listening: e.Listening, offered: e.Offered, hidden: e.Hidden, heard: e.Heard, answered: e.Answered,
		errors: e.Errors, relay: e.Relay,
	}
	inner.media.Packets, inner.media.Pictures = e.Packets, e.Pictures
	for _, k := range e.Candidates {
		inner.remote = append(inner.remote, remote{k, false})
	}
	for _, k := range e.Private {
		inner.remote = append(inner.remote, remote{k, true})
	}
	return inner.hint()
}
