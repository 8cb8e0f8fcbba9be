package edge

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnThisMachine(t *testing.T) {
	t.Parallel()
	here := "http://127.0.0.1:8080"
	proxy := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for name, tt := range map[string]struct {
		public, local, remote, host, header, value string
		trusted                                    []netip.Prefix
		want                                       bool
	}{
		"a program of this machine":        {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", want: true},
		"by name":                          {public: "http://localhost:8080", local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "localhost:8080", want: true},
		"over IPv6":                        {public: "http://[::1]:8080", local: "[::1]:8080", remote: "[::1]:4711", host: "[::1]:8080", want: true},
		"another machine":                  {public: here, local: "192.0.2.1:8080", remote: "192.0.2.7:4711", host: "127.0.0.1:8080"},
		"another machine, public URL here": {public: here, local: "192.0.2.1:8080", remote: "192.0.2.7:4711", host: "192.0.2.1:8080"},
		"a service for others":             {public: "https://vqa.example", local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080"},
		"a service on all addresses":       {public: "http://0.0.0.0:8080", local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080"},
		"through a proxy":                  {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", header: "X-Forwarded-For"},
		"through a proxy with Via only":    {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", header: "Via"},
		"a page of another site":           {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", header: "Sec-Fetch-Site", value: "cross-site"},
		"a page of another port":           {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", header: "Sec-Fetch-Site", value: "same-site"},
		"a page in an old browser":         {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", header: "Origin", value: "https://evil.example"},
		"a page without an origin":         {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", header: "Origin", value: "null"},
		"a page of the service":            {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "localhost:8080", header: "Origin", value: "http://localhost:8080", want: true},
		"through a tunnel":                 {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "abc.tunnel.example"},
		"a rebound name":                   {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "evil.example:8080"},
		"behind a trusted proxy":           {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1:8080", trusted: proxy},
		"a host that looks like it":        {public: here, local: "127.0.0.1:8080", remote: "127.0.0.1:4711", host: "127.0.0.1.evil.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/v1/sandbox", nil)
			local, err := net.ResolveTCPAddr("tcp", tt.local)
			require.NoError(t, err)
			r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, local))
			r.RemoteAddr, r.Host = tt.remote, tt.host
			if tt.header != "" {
				r.Header.Set(tt.header, cmp.Or(tt.value, "203.0.113.9"))
			}
			require.Equal(t, tt.want, OnThisMachine(tt.public, tt.trusted)(r))
		})
	}
	require.False(t, OnThisMachine(here, nil)(httptest.NewRequest(http.MethodPost, "/v1/sandbox", nil)), "the request has no connection")
}
