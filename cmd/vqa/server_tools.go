package main

import (
	"net/http"
	"net/netip"

	"vqa/handlers/httpapi/edge"
	"vqa/handlers/mcp"
	oauth "vqa/handlers/oauth/server"
)

// agentTools returns a function that makes the agent tool endpoint.
func (s *server) agentTools(c config) func(*edge.Edge) http.Handler {
	return func(e *edge.Edge) http.Handler {
		return mcp.New(mcp.Options{
			Edge: e, PublicURL: c.PublicURL, Version: e.Contract.Version(), PricePerSecondCents: c.PricePerSecondCents,
			BatchDiscountPct: c.BatchDiscountPct, Origins: c.AgentOrigins, Log: s.log,
		})
	}
}

// authorization returns the authorization server for agents. key is the key of the installation.
func (s *server) authorization(c config, key []byte, address func(*http.Request) string, uncapped func(*http.Request) bool) (http.Handler, error) {
	return oauth.New(oauth.Options{
		Service: s.commands, Reader: s.resources, Ledger: s.ledger, Transport: s.intake.Client, PublicURL: c.PublicURL,
		PricePerSecondCents: c.PricePerSecondCents, FormKey: derivedKey(key, "forms of agents"), Address: address, Uncapped: uncapped,
	})
}

// uncapped returns the test of clients that are exempt from the limits per address, or nil if none is.
func (c config) uncapped(proxies []netip.Prefix) func(*http.Request) bool {
	if c.CapLoopback {
		return nil
	}
	return edge.OnThisMachine(c.PublicURL, proxies)
}
