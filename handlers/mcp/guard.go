package mcp

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

// guard refuses requests that a page of another origin or DNS rebinding caused. A request needs a
// credential in any case; the protocol demands this check besides.
type guard struct {
	// host is that of the public address.
	host string
	// origins are that of the public address, and those of Options.
	origins []string
}

func newGuard(publicURL string, origins []string) guard {
	u, err := url.Parse(publicURL)
	if err != nil {
		return guard{}
	}
	return guard{host: u.Host, origins: append([]string{strings.ToLower(u.Scheme + "://" + u.Host)}, origins...)}
}

// check refuses the Origin of another site, and a foreign Host on a loopback connection. A reverse proxy
// on this machine sends the public host. Error: insufficient_scope.
func (g guard) check(r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" && !g.knows(origin) {
		return fault.New(fault.InsufficientScope, "Pages of other origins may not call this endpoint.")
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if ok && edge.Loopback(local.String()) && !edge.Loopback(r.Host) && !strings.EqualFold(r.Host, g.host) {
		return fault.New(fault.InsufficientScope, "The Host header names another host. Send requests to the public address of the service.")
	}
	return nil
}

// knows reports whether an origin is that of the service, one that the operator allows, or that of a program on the
// machine of the user, such as the inspector of the protocol.
func (g guard) knows(origin string) bool {
	if slices.Contains(g.origins, strings.ToLower(origin)) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && edge.Loopback(u.Host)
}

// allow lets a page of a known origin read the response.
func (g guard) allow(h http.Header, r *http.Request) {
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, X-Request-Id, Retry-After")
	if r.Method == http.MethodOptions {
		h.Set("Allow", "POST, OPTIONS")
		h.Set("Access-Control-Allow-Methods", "POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID")
		h.Set("Access-Control-Max-Age", "600")
	}
}
