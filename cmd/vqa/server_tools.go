package main

import (
	"net/http"

	"vqa/handlers/httpapi/edge"
	"vqa/handlers/mcp"
)

// agentTools returns a function that makes the agent tool endpoint.
func (s *server) agentTools(c config) func(*edge.Edge) http.Handler {
	return func(e *edge.Edge) http.Handler {
		return mcp.New(mcp.Options{
			Edge: e, PublicURL: c.PublicURL, Version: e.Contract.Version(), PricePerSecondCents: c.PricePerSecondCents,
			BatchDiscountPct: c.BatchDiscountPct, Log: s.log,
		})
	}
}
