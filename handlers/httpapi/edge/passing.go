package edge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// passingLife is how long a mark is valid, with the difference between the clocks of two nodes.
const passingLife = 30 * time.Second

// Passing marks the requests that one node passes on to another one, so that the receiver trusts what the
// mark says: the client of the request is the one of the first node, which has counted the request. Without
// a valid mark, a request has no mark: a client cannot make one.
//
// A mark is "unix time:client:MAC". The MAC covers both, the method, the path and the credential, so that a
// mark is of no use for another request.
type Passing struct {
	header  string
	key     []byte
	address func(*http.Request) string
	now     func() time.Time
}

// NewPassing returns the marks of nodes that share a key. header has the mark. address identifies the client
// of a request; see AddressHash.
func NewPassing(header string, key []byte, address func(*http.Request) string, now func() time.Time) *Passing {
	return &Passing{header: header, key: key, address: address, now: now}
}

// Mark adds the mark to the headers of a request that is passed on. They have its credential. in is the
// request of the client.
func (p *Passing) Mark(out http.Header, in *http.Request, method, path string) {
	at, client := strconv.FormatInt(p.now().Unix(), 10), p.address(in)
	out.Set(p.header, at+":"+client+":"+p.mac(at, client, method, path, out.Get("Authorization")))
}

func (p *Passing) mac(parts ...string) string {
	m := hmac.New(sha256.New, p.key)
	for _, part := range parts {
		m.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(m.Sum(nil))
}

type passedKey struct{}

// receive returns the request with the client of a valid mark. It removes any other mark.
func (p *Passing) receive(r *http.Request) *http.Request {
	if p == nil {
		return r
	}
	marks := r.Header.Values(p.header)
	if len(marks) == 0 {
		return r
	}
	if client, ok := p.client(r, marks); ok {
		return r.WithContext(context.WithValue(r.Context(), passedKey{}, client))
	}
	r.Header.Del(p.header)
	return r
}

// client returns the client that a valid mark names.
func (p *Passing) client(r *http.Request, marks []string) (string, bool) {
	if len(marks) != 1 {
		return "", false
	}
	parts := strings.Split(marks[0], ":")
	if len(parts) != 3 {
		return "", false
	}
	want := p.mac(parts[0], parts[1], r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization"))
	unix, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || !hmac.Equal([]byte(want), []byte(parts[2])) {
		return "", false
	}
	age := p.now().Sub(time.Unix(unix, 0))
	return parts[1], age.Abs() <= passingLife
}

// clientOf returns the function that identifies the client of a request: the one of its mark, or the one of its
// connection.
func clientOf(address func(*http.Request) string) func(*http.Request) string {
	return func(r *http.Request) string {
		if client, passed := passedClient(r); passed {
			return client
		}
		return address(r)
	}
}

// passedClient returns the client of a request that another node passed on.
func passedClient(r *http.Request) (client string, passed bool) {
	client, passed = r.Context().Value(passedKey{}).(string)
	return client, passed
}
