package main

import (
	"net/netip"
	"net/url"
	"strings"

	"vqa/streaming/peer"
)

// noRelay is the value of VQA_TURN_ADDR without a relay. An empty variable has its default.
const noRelay = "off"

// mediaOptions returns the ports and servers of live streams. secret signs the credentials of the relay.
func (c config) mediaOptions(secret []byte) (o peer.Options, err error) {
	if o.Address, err = netip.ParseAddrPort(c.MediaAddr); err != nil {
		return o, wrongValue("VQA_MEDIA_ADDR", c.MediaAddr, "must be an IP address with a port, such as 0.0.0.0:8090")
	}
	if c.MediaPublicIP != "" {
		if o.PublicIP, err = netip.ParseAddr(c.MediaPublicIP); err != nil {
			return o, wrongValue("VQA_MEDIA_PUBLIC_IP", c.MediaPublicIP, "must be an IP address")
		}
	}
	if c.TURNAddr != noRelay {
		relay := &peer.RelayOptions{Secret: secret}
		if relay.Address, err = netip.ParseAddrPort(c.TURNAddr); err != nil {
			return o, wrongValue("VQA_TURN_ADDR", c.TURNAddr, "must be an IP address with a port, such as 0.0.0.0:3478, or off")
		}
		if o.PublicIP.IsValid() {
			relay.Host = o.PublicIP.String()
		}
		o.Relay = relay
	}
	for _, server := range c.ICEServers {
		parsed, ok := iceServer(server)
		if !ok {
			return o, wrongValue("VQA_ICE_SERVERS", "(hidden)", "must be URLs such as stun:host:3478, turn::SECRET@host:3478 or turn:user:password@host:3478")
		}
		o.External = append(o.External, parsed)
	}
	o.ConnectTimeout = c.StreamICETimeout
	return o, nil
}

// iceServer reads stun:host:port, turn::SECRET@host:port or turn:user:password@host:port, with an optional ?transport=.
func iceServer(text string) (s peer.External, ok bool) {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || rest == "" {
		return s, false
	}
	switch scheme {
	case "stun", "stuns":
		s.URLs = []string{text}
		return s, !strings.Contains(rest, "@")
	case "turn", "turns":
		u, err := url.Parse(scheme + "://" + rest)
		if err != nil || u.Host == "" || u.User == nil {
			return s, false
		}
		user := u.User.Username()
		password, ok := u.User.Password()
		if u.User = nil; u.RawQuery != "" {
			u.RawQuery = "?" + u.RawQuery
		}
		s.URLs = []string{scheme + ":" + u.Host + u.RawQuery}
		if user == "" {
			s.Secret = []byte(password)
			return s, password != ""
		}
		s.Username, s.Credential = &user, &password
		return s, ok
	}
	return s, false
}
