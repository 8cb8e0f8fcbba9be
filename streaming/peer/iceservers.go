package peer

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the convention for time-limited TURN credentials names it
	"encoding/base64"
	"net"
	"strconv"
	"time"
)

// ICEServer is a STUN or TURN server as a client gets it (docs/contract.md#ice-servers).
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   *string  `json:"username"`
	Credential *string  `json:"credential"`
}

// External is a STUN or TURN server of the operator. Secret, which clients never get, signs credentials that expire.
// A TURN server without one has credentials that stay valid.
type External struct {
	ICEServer
	Secret []byte
}

// signed returns a TURN server with credentials until the given time (the TURN REST scheme,
// draft-uberti-behave-turn-rest).
func signed(urls []string, secret []byte, id string, until time.Time) ICEServer {
	user := strconv.FormatInt(until.Unix(), 10) + ":" + id
	password := password(secret, user)
	return ICEServer{URLs: urls, Username: &user, Credential: &password}
}

// password returns the credential of a user name that has an expiry.
func password(secret []byte, user string) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write([]byte(user))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// ICEServers returns the servers for a client, with credentials for the given time. All
// allocations with one id count together, so choose one for each account and not for each session: a client could
// otherwise take all allocations with the credentials of ended sessions. Choose it longer than the session can last: each refresh of an
// allocation checks them. Those of the embedded TURN server work with this server only. Livemode is false for a test key.
func (s *Server) ICEServers(id string, life time.Duration, livemode bool) []ICEServer {
	servers := s.ExternalServers(id, life, livemode)
	if r := s.relay; r != nil {
		host := r.options.Host
		if host == "" {
			host = s.host().String()
		}
		at := net.JoinHostPort(host, strconv.Itoa(int(r.address.Port())))
		urls := []string{"turn:" + at + "?transport=udp", "turn:" + at + "?transport=tcp"}
		servers = append(servers, signed(urls, r.options.Secret, id, s.options.Now().Add(life)))
	}
	return servers
}

// ExternalServers returns the servers of ICEServers without the embedded one. Anybody can get a test key, so clients in
// test mode get no credentials that stay valid.
func (s *Server) ExternalServers(id string, life time.Duration, livemode bool) []ICEServer {
	servers := []ICEServer{}
	for _, e := range s.options.External {
		switch {
		case len(e.Secret) > 0:
			servers = append(servers, signed(e.URLs, e.Secret, id, s.options.Now().Add(life)))
		case livemode || e.Credential == nil:
			servers = append(servers, e.ICEServer)
		}
	}
	return servers
}
