package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/domain/id"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
	"vqa/handlers/oauth"
)

// ticketLife is how long the consent page can be decided.
const ticketLife = 10 * time.Minute

// request is what a client asks a person for.
type request struct {
	oauth.Authorization
	client client
}

// showConsent answers GET /authorize: the page on which a person decides. Every error is shown to the person. The
// client of a request that is wrong, or of a person who is not signed in, is not redirected to.
func (s *server) showConsent(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		s.problem(w, r, http.StatusBadRequest, "The program sent a malformed address.", "")
		return
	}
	if err := s.checkSender(r.Context(), query); err != nil {
		s.showError(w, r, err, "")
		return
	}
	person, ok := s.signIn(w, r)
	if !ok {
		return
	}
	ask, back, err := s.read(r.Context(), query)
	if err != nil {
		s.showError(w, r, err, back)
		return
	}
	s.consent(w, r, person, ask, ticket{GrantID: s.Service.IDs.New(id.Grant), IssuedAt: s.Service.Now().Unix()}, "", "")
}

// checkSender checks the parts of a request that need no person. A metadata document is not fetched for a stranger.
func (s *server) checkSender(ctx context.Context, query url.Values) error {
	clientID, redirectURI, err := oauth.ReadClient(query)
	if err != nil {
		return err
	}
	if isDocument(clientID) {
		return errors.Join(oauth.CheckDocumentAddress(clientID), oauth.CheckRedirect(redirectURI))
	}
	c, err := s.registered(ctx, clientID)
	if err != nil {
		return err
	}
	return matches(c, redirectURI)
}

func matches(c client, redirectURI string) error {
	if !oauth.MatchRedirect(c.RedirectURIs, redirectURI) {
		return &oauth.Error{Code: oauth.InvalidRequest, Description: "redirect_uri is not one of the addresses of the client."}
	}
	return nil
}

// read reads a request for a signed-in person. back is the address that reports the error to the client. It is empty
// when the client or its address is not valid.
func (s *server) read(ctx context.Context, query url.Values) (ask request, back string, err error) {
	clientID, redirectURI, err := oauth.ReadClient(query)
	if err != nil {
		return request{}, "", err
	}
	if ask.client, err = s.find(ctx, clientID); err != nil {
		return request{}, "", err
	}
	if err = matches(ask.client, redirectURI); err != nil {
		return request{}, "", err
	}
	ask.Authorization, err = oauth.ReadAuthorization(query, s.PublicURL+edge.ToolsPath)
	var e *oauth.Error
	if errors.As(err, &e) {
		reply := oauth.Authorization{RedirectURI: redirectURI, State: query.Get("state")}
		back, _ = reply.RedirectError(e, s.PublicURL)
	}
	return ask, back, err
}

// showError shows an error of a request to the person.
func (s *server) showError(w http.ResponseWriter, r *http.Request, err error, back string) {
	var e *oauth.Error
	if !errors.As(err, &e) {
		edge.WriteError(w, r, err)
		return
	}
	s.problem(w, r, http.StatusBadRequest, "The program sent a request that this service refuses: "+e.Description, back)
}

// ticket identifies one consent page. The decision uses the id for the new grant, so a page has one use.
type ticket struct {
	GrantID string
	// IssuedAt is in seconds since 1970.
	IssuedAt int64
}

// ticketCode binds a ticket to the person, the session and each part of the request.
func (s *server) ticketCode(t ticket, person command.Caller, session string, a oauth.Authorization) string {
	return s.sign("consent", person.AccountID, session, t.GrantID, strconv.FormatInt(t.IssuedAt, 10),
		a.ClientID, a.RedirectURI, a.State, a.Challenge, a.Resource)
}

// consent shows the consent page. limit and limitProblem are those of an earlier submission.
func (s *server) consent(w http.ResponseWriter, r *http.Request, person command.Caller, ask request, t ticket, limit, limitProblem string) {
	balance, err := s.Ledger.Balance(r.Context(), person.AccountID)
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	a := ask.Authorization
	host, local := oauth.Destination(a.RedirectURI)
	fields := []pages.Field{
		{Name: "client_id", Value: a.ClientID}, {Name: "redirect_uri", Value: a.RedirectURI}, {Name: "response_type", Value: "code"},
		{Name: "state", Value: a.State}, {Name: "code_challenge", Value: a.Challenge}, {Name: "code_challenge_method", Value: oauth.S256},
		{Name: "resource", Value: a.Resource}, {Name: "grant_id", Value: t.GrantID}, {Name: "issued_at", Value: strconv.FormatInt(t.IssuedAt, 10)},
		{Name: "ticket", Value: s.ticketCode(t, person, edge.ExchangeOf(r.Context()).Session(), a)},
	}
	p, err := pages.ConsentPage(pages.Consent{
		Name: ask.client.Name, Domain: ask.client.domain, RedirectHost: host, OnThisMachine: local, Service: a.Resource,
		AccountID: person.AccountID, AvailableSeconds: balance.AvailableSeconds(), Days: int(grant.Life / (24 * time.Hour)),
		PriceText: fmt.Sprintf("One second of video costs %s US cents.", s.PricePerSecondCents), Fields: fields, Limit: limit, LimitProblem: limitProblem,
	})
	s.page(w, r, http.StatusOK, p, err)
}

// decide answers POST /authorize, which the form of the consent page sends. Requests that the form did not send are
// refused. Errors: insufficient_scope, invalid_api_key without a session.
func (s *server) decide(w http.ResponseWriter, r *http.Request) {
	person, f, ok := s.posted(w, r, "Start again in the program.")
	if !ok {
		return
	}
	ask, _, err := s.read(r.Context(), f)
	if err != nil {
		s.showError(w, r, err, "")
		return
	}
	t := ticket{GrantID: f.Get("grant_id")}
	t.IssuedAt, _ = strconv.ParseInt(f.Get("issued_at"), 10, 64) // a wrong number has another code
	if code := s.ticketCode(t, person, edge.ExchangeOf(r.Context()).Session(), ask.Authorization); !same(code, f.Get("ticket")) || !id.Valid(id.Grant, t.GrantID) {
		edge.WriteError(w, r, fault.New(fault.InsufficientScope, "The form belongs to another session or request. Start again in the program."))
		return
	}
	if s.Service.Now().Sub(time.Unix(t.IssuedAt, 0)) > ticketLife {
		s.problem(w, r, http.StatusGone, "This page was open for too long.", "")
		return
	}
	s.record(w, r, person, ask, t, f)
}

// record records the decision and sends the person back to the client.
func (s *server) record(w http.ResponseWriter, r *http.Request, person command.Caller, ask request, t ticket, f url.Values) {
	a := ask.Authorization
	terms := grant.Terms{
		GrantID: t.GrantID, Livemode: f.Get("mode") == "live", ClientID: a.ClientID, ClientName: ask.client.Name,
		RedirectURI: a.RedirectURI, Resource: a.Resource, Scope: oauth.Scope,
	}
	var to string
	var err error
	switch f.Get("decision") {
	case "allow":
		limit, problem := readLimit(f.Get("limit_seconds"))
		if mode := f.Get("mode"); mode != "live" && mode != "test" {
			s.problem(w, r, http.StatusBadRequest, "Choose with which videos the program may work.", "")
			return
		}
		if problem != "" {
			s.consent(w, r, person, ask, t, f.Get("limit_seconds"), problem)
			return
		}
		terms.LimitSeconds = limit
		var code string
		if code, err = s.Service.ApproveAgent(r.Context(), person, terms, a.Challenge); err == nil {
			to, err = a.Redirect(code, s.PublicURL)
		}
	case "deny":
		if err = s.Service.DenyAgent(r.Context(), person, terms); err == nil {
			to, err = a.RedirectError(&oauth.Error{Code: oauth.AccessDenied, Description: "The person did not allow it."}, s.PublicURL)
		}
	default:
		s.problem(w, r, http.StatusBadRequest, "The form has no decision.", "")
		return
	}
	switch {
	case fault.Has(err, fault.ResourceConflict):
		s.problem(w, r, http.StatusConflict, "This page was used already. Start again in the program.", "")
	case fault.Has(err, fault.ResourceNotFound):
		s.problem(w, r, http.StatusGone, "The registration of the program has expired. Start again in the program.", "")
	case err != nil:
		edge.WriteError(w, r, err)
	default:
		h := w.Header()
		h.Set("Location", to)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		// 303 makes the browser send GET, so that the form does not reach the client.
		w.WriteHeader(http.StatusSeeOther)
	}
}

// readLimit reads the spending limit in seconds. 0 means no limit. problem is a message for the person.
func readLimit(typed string) (seconds int64, problem string) {
	if typed == "" {
		return 0, ""
	}
	seconds, err := strconv.ParseInt(typed, 10, 64)
	if err != nil || seconds < 1 || seconds > grant.MaxLimitSeconds {
		return 0, fmt.Sprintf("Enter a whole number from 1 to %d, or nothing.", grant.MaxLimitSeconds)
	}
	return seconds, ""
}
