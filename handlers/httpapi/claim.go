package httpapi

import (
	"bytes"
	"context"
	"net/http"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
)

// GetClaimPage answers GET /claim: the page on which a person lets a program have a
// billed key (api-v1.md, "Device code"). Whatever the person does wrong is said on the
// page.
func (s *server) GetClaimPage(ctx context.Context, r api.GetClaimPageRequestObject) (api.GetClaimPageResponseObject, error) {
	typed := ""
	if r.Params.Code != nil {
		typed = *r.Params.Code
	}
	page, err := s.claimPage(ctx, typed)
	if err != nil {
		return nil, err
	}
	b, err := s.renderClaim(exchangeOf(ctx), page)
	if err != nil {
		return nil, err
	}
	return api.GetClaimPage200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

// claimPage finds out what a person who opens the page is to see.
func (s *server) claimPage(ctx context.Context, typed string) (claimPage, error) {
	if s.Sessions == nil {
		return claimPage{View: viewOff}, nil
	}
	person, err := s.signedIn(ctx)
	switch {
	case fault.Has(err, fault.AccountRestricted):
		return claimPage{View: viewRestricted}, nil
	case fault.Has(err, fault.InvalidAPIKey):
		return claimPage{View: viewSignIn, SignInURL: s.signInURL(typed)}, nil
	case err != nil:
		return claimPage{}, err
	case typed == "":
		return claimPage{View: viewForm}, nil
	}
	claim, problem, err := s.findClaim(ctx, person, typed)
	if err != nil {
		return claimPage{}, err
	}
	if problem != "" {
		return claimPage{View: viewForm, Typed: typed, Problem: problem}, nil
	}
	return s.reviewPage(person, claim), nil
}

// DecideClaim answers POST /claim, which the form of the page sends. What no form of
// ours sends is refused: errors are insufficient_scope for a request of another site or
// without the page's token, and invalid_api_key without a session. A signed-in person
// gets a page whatever comes of the decision.
func (s *server) DecideClaim(ctx context.Context, r api.DecideClaimRequestObject) (api.DecideClaimResponseObject, error) {
	page, err := s.decideClaim(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	b, err := s.renderClaim(exchangeOf(ctx), page)
	if err != nil {
		return nil, err
	}
	return api.DecideClaim200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

func (s *server) decideClaim(ctx context.Context, form *api.ClaimDecision) (claimPage, error) {
	if err := s.sameSite.Check(exchangeOf(ctx).request); err != nil {
		return claimPage{}, fault.New(fault.InsufficientScope, "The form was not sent by this service's own page.").WithCause(err)
	}
	person, err := s.signedIn(ctx)
	if err != nil {
		return claimPage{}, err
	}
	claim, problem, err := s.findClaim(ctx, person, form.Code)
	if err != nil {
		return claimPage{}, err
	}
	if problem != "" {
		return claimPage{View: viewForm, Typed: form.Code, Problem: problem}, nil
	}
	if !s.validClaimToken(form.Token, person.AccountID, claim.Hash) {
		return claimPage{}, fault.New(fault.InsufficientScope, "The form is not that of this session and code; load the page again.")
	}
	decide, done := s.Service.DenyDeviceCode, viewDenied
	if form.Decision == api.Approve {
		decide, done = s.Service.ApproveDeviceCode, viewApproved
	}
	switch err := decide(ctx, person, claim.Hash); {
	case fault.Has(err, fault.ResourceConflict):
		return claimPage{View: viewForm, Problem: problemDecided}, nil
	case fault.Has(err, fault.DeviceCodeExpired):
		return claimPage{View: viewForm, Problem: problemExpired}, nil
	case err != nil:
		return claimPage{}, err
	}
	return claimPage{View: done}, nil
}

// signedIn is the person whose session the request carries, in the cookie or as bearer.
// Errors: invalid_api_key without one, account_restricted, upstream_error when the
// issuer's keys cannot be had.
func (s *server) signedIn(ctx context.Context) (command.Caller, error) {
	x := exchangeOf(ctx)
	person, err := s.sessionOf(x.request)
	if err != nil {
		return command.Caller{}, err
	}
	x.caller = person.caller(x.requestID) // for the access log
	return x.caller, nil
}

// What is wrong with a code, in words for the person who entered it.
const (
	problemForm    = "A code has eight letters, such as BCDF-GHJK. Look again at what your program shows."
	problemUnknown = "There is no request with this code. Look again at what your program shows."
	problemExpired = "This request is no longer open. Start again in your program: it gets a new code."
	problemDecided = "This request was decided already."
	problemTooMany = "Too many wrong codes. Wait a quarter of an hour, then try again."
)

// claim is an open request with the code that a person knows it by.
type claim struct {
	account.DeviceCode
	UserCode string
}

// findClaim finds the open request of a code that a person entered, or says what is
// wrong with the code. Wrong codes count, so that nobody finds one by trying.
func (s *server) findClaim(ctx context.Context, person command.Caller, typed string) (found claim, problem string, err error) {
	userCode, ok := account.ParseUserCode(typed)
	if !ok {
		return claim{}, problemForm, nil
	}
	d, known, err := s.Resources.DeviceCodeOfUser(ctx, account.HashSecret(userCode))
	if err != nil {
		return claim{}, "", err
	}
	err = s.Service.EnterUserCode(ctx, person, known)
	switch {
	case fault.Has(err, fault.RateLimitExceeded):
		return claim{}, problemTooMany, nil
	case err != nil:
		return claim{}, "", err
	case !known:
		return claim{}, problemUnknown, nil
	case !d.Open(s.Service.Now()):
		return claim{}, problemExpired, nil
	case d.Status == account.DeviceApproved && d.AccountID != person.AccountID:
		return claim{}, problemDecided, nil
	}
	return claim{d, userCode}, "", nil
}

// renderClaim renders the page with the headers that keep it to itself: no other site
// may frame it, send its form or learn its address, and no script runs in it.
func (s *server) renderClaim(x *exchange, page claimPage) (*bytes.Buffer, error) {
	b, err := rendered(claimTemplate, map[string]any{"Title": "Approve an API key", "Claim": page})
	if err != nil {
		return nil, err
	}
	h := x.response.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src "+styleHashes(b.Bytes())+
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Cookie, Authorization")
	return b, nil
}

// newCrossOriginProtection refuses forms of other sites, also where a proxy hides under
// which name the service is known.
func newCrossOriginProtection(publicURL string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	origin, err := originOf(publicURL)
	if err != nil {
		return nil, err
	}
	return p, p.AddTrustedOrigin(origin)
}
