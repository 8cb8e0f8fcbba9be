package server

import (
	"crypto/subtle"
	"net/http"

	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

// showAgents answers GET /account/agents: the programs that a person allowed.
func (s *server) showAgents(w http.ResponseWriter, r *http.Request) {
	if person, ok := s.signIn(w, r); ok {
		s.agents(w, r, person, "")
	}
}

func (s *server) agents(w http.ResponseWriter, r *http.Request, person command.Caller, done string) {
	all, err := s.Reader.Grants(r.Context(), person.AccountID)
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	balance, err := s.Ledger.Balance(r.Context(), person.AccountID)
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	shown := pages.Agents{AccountID: person.AccountID, Done: done}
	for _, g := range all {
		settled, held := balance.SpentBy(g.ID)
		a := pages.Agent{
			GrantID: g.ID, Name: g.ClientName, ClientID: g.ClientID, Livemode: g.Livemode, Status: "active", ApprovedAt: g.DecidedAt, UsedAt: g.UsedAt,
			ExpiresAt: g.ExpiresAt, SpentSeconds: settled + held, LimitSeconds: g.LimitSeconds,
		}
		switch {
		case g.Status == grant.StatusRevoked:
			a.Status = "revoked"
		case !g.Open(s.Service.Now()):
			a.Status = "expired"
		default:
			a.Token = s.revocationToken(r, person, g.ID)
		}
		shown.Agents = append(shown.Agents, a)
	}
	p, err := pages.AgentsPage(shown)
	s.page(w, r, http.StatusOK, p, err)
}

// revocationToken binds the form to the session and the permission.
func (s *server) revocationToken(r *http.Request, person command.Caller, grantID string) string {
	return s.sign("revoke", person.AccountID, edge.ExchangeOf(r.Context()).Session(), grantID)
}

// revokeAgent answers POST /account/agents. Errors: insufficient_scope for a request that the page did not send,
// invalid_api_key without a session, resource_not_found.
func (s *server) revokeAgent(w http.ResponseWriter, r *http.Request) {
	person, f, ok := s.posted(w, r, "Load the page again.")
	if !ok {
		return
	}
	grantID := f.Get("grant_id")
	if !same(s.revocationToken(r, person, grantID), f.Get("token")) {
		edge.WriteError(w, r, fault.New(fault.InsufficientScope, "The form belongs to another session. Load the page again."))
		return
	}
	if err := s.Service.RevokeGrant(r.Context(), person, grantID); err != nil {
		edge.WriteError(w, r, err)
		return
	}
	s.agents(w, r, person, "The permission is revoked.")
}

// same compares two codes in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
