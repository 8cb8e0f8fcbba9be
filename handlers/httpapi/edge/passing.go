package edge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vqa/handlers/command"
)

// passingLife is how long a statement is valid, with the difference between the clocks of two nodes.
const passingLife = 30 * time.Second

// Passing signs the requests that one node passes on to another. The first node has authenticated and counted the
// caller, and its signed statement names that caller. The credential stays on the first node, so nobody who reads or
// redirects the traffic between nodes gets one.
//
// A statement is its JSON and a MAC, in base64url with a dot between them. The MAC also covers the method and the URL,
// so a statement is of no use for another request or at another node.
type Passing struct {
	header  string
	key     []byte
	self    string
	address func(*http.Request) string
	now     func() time.Time
}

// statement is what one node says to another about a request.
type statement struct {
	// At is the Unix time in seconds.
	At int64
	// Client identifies the client's address; see AddressHash.
	Client string
	Caller command.Caller
}

// NewPassing returns the statements of nodes that share a key. The header has the statement. self is the base URL at
// which other nodes reach this one. address identifies the client of a request; see AddressHash.
func NewPassing(header string, key []byte, self string, address func(*http.Request) string, now func() time.Time) *Passing {
	return &Passing{header: header, key: key, self: self, address: address, now: now}
}

// Sign adds the statement to the headers of a request that is passed on to a URL. in is the request of the client.
func (p *Passing) Sign(out http.Header, in *http.Request, method, url string) error {
	s := statement{At: p.now().Unix(), Client: p.address(in), Caller: ExchangeOf(in.Context()).Caller}
	s.Caller.Idempotency = nil
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("sign a request to another node: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	out.Set(p.header, encode(text)+"."+encode(p.mac(string(text), method, url)))
	return nil
}

func (p *Passing) mac(parts ...string) []byte {
	m := hmac.New(sha256.New, p.key)
	for _, part := range parts {
		m.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return m.Sum(nil)
}

type passedKey struct{}

// receive returns the request with its valid statement. It removes any other one.
func (p *Passing) receive(r *http.Request) *http.Request {
	if p == nil {
		return r
	}
	headers := r.Header.Values(p.header)
	if len(headers) == 0 {
		return r
	}
	if s, ok := p.verify(r, headers); ok {
		return r.WithContext(context.WithValue(r.Context(), passedKey{}, s))
	}
	r.Header.Del(p.header)
	return r
}

// verify returns the statement of a request if it is valid.
func (p *Passing) verify(r *http.Request, headers []string) (s statement, ok bool) {
	encoded, mac, _ := strings.Cut(headers[0], ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	given, malformed := base64.RawURLEncoding.DecodeString(mac)
	if len(headers) > 1 || err != nil || malformed != nil || !hmac.Equal(given, p.mac(string(text), r.Method, p.self+r.URL.EscapedPath())) {
		return statement{}, false
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return statement{}, false
	}
	return s, p.now().Sub(time.Unix(s.At, 0)).Abs() <= passingLife
}

// clientOf returns the function that identifies the client of a request: the one of its statement, or the one of its
// connection.
func clientOf(address func(*http.Request) string) func(*http.Request) string {
	return func(r *http.Request) string {
		if s, passed := passedOn(r); passed {
			return s.Client
		}
		return address(r)
	}
}

// passedOn returns the statement of a request that another node passed on.
func passedOn(r *http.Request) (s statement, passed bool) {
	s, passed = r.Context().Value(passedKey{}).(statement)
	return s, passed
}
