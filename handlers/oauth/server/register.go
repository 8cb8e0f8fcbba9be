package server

import (
	"io"
	"mime"
	"net/http"
	"time"

	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/oauth"
)

// maxUnused is the most clients of an address that no person has approved. They expire after a day.
const maxUnused = 20

// registration is the response to a registration (RFC 7591, section 3.2.1).
type registration struct {
	oauth.Client
	IssuedAt int64 `json:"client_id_issued_at"`
}

// register answers POST /register. Errors: InvalidClientMetadata, InvalidRedirectURI; rate_limit_exceeded for an
// address with too many unused clients.
func (s *server) register(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		s.fail(w, r, &oauth.Error{Code: oauth.InvalidClientMetadata, Description: "Send the client metadata with the content type application/json."})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		s.fail(w, r, &oauth.Error{Code: oauth.InvalidClientMetadata, Description: "Cannot read the client metadata. It may have at most 64 KiB."})
		return
	}
	c, err := oauth.ReadRegistration(body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	address := s.Address(r)
	if s.Uncapped == nil || !s.Uncapped(r) {
		unused, err := s.Reader.UnusedAgentClients(r.Context(), address, s.Service.Now())
		if err == nil && unused >= maxUnused {
			err = fault.Newf(fault.RateLimitExceeded, "This address has %d registered clients that nobody has approved. They expire after 24 hours.", unused).
				WithRetryAfter(int(time.Hour / time.Second))
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
	}
	added, err := s.Service.RegisterAgentClient(r.Context(), edge.ExchangeOf(r.Context()).RequestID, grant.Register{
		Name: c.Name, RedirectURIs: c.RedirectURIs, ApplicationType: c.ApplicationType, AddressHash: address,
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	c.ID = added.ID
	secret(w, http.StatusCreated, registration{c, added.RegisteredAt.Unix()})
}
