package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

// GetClaimPage answers GET /claim: the page on which a person lets a program have a
// billed key (api-v1.md, "Device code"). Whatever the person does wrong is said on the
// page.
func (s *server) GetClaimPage(ctx context.Context, r api.GetClaimPageRequestObject) (api.GetClaimPageResponseObject, error) {
	typed := ""
	if r.Params.Code != nil {
		typed = *r.Params.Code
	}
	shown, err := s.claimPage(ctx, typed)
	if err != nil {
		return nil, err
	}
	p, err := s.pages.Claim(shown)
	if err != nil {
		return nil, err
	}
	return api.GetClaimPage200TexthtmlResponse(show(ctx, p)), nil
}

// claimPage finds out what a person who opens the page is to see.
func (s *server) claimPage(ctx context.Context, typed string) (pages.Claim, error) {
	if s.Sessions == nil {
		return pages.Claim{View: pages.ViewOff}, nil
	}
	person, err := edge.ExchangeOf(ctx).SignIn()
	switch {
	case fault.Has(err, fault.AccountRestricted):
		return pages.Claim{View: pages.ViewRestricted}, nil
	case fault.Has(err, fault.InvalidAPIKey):
		return pages.Claim{View: pages.ViewSignIn, SignInURL: s.signInURL(typed)}, nil
	case err != nil:
		return pages.Claim{}, err
	case typed == "":
		return pages.Claim{View: pages.ViewForm}, nil
	}
	claim, problem, err := s.findClaim(ctx, person, typed)
	if err != nil {
		return pages.Claim{}, err
	}
	if problem != "" {
		return pages.Claim{View: pages.ViewForm, Typed: typed, Problem: problem}, nil
	}
	return s.review(person, claim), nil
}

// DecideClaim answers POST /claim, which the form of the page sends. What no form of
// ours sends is refused: errors are insufficient_scope for a request of another site or
// without the page's token, and invalid_api_key without a session. A signed-in person
// gets a page whatever comes of the decision.
func (s *server) DecideClaim(ctx context.Context, r api.DecideClaimRequestObject) (api.DecideClaimResponseObject, error) {
	shown, err := s.decideClaim(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	p, err := s.pages.Claim(shown)
	if err != nil {
		return nil, err
	}
	return api.DecideClaim200TexthtmlResponse(show(ctx, p)), nil
}

func (s *server) decideClaim(ctx context.Context, form *api.ClaimDecision) (pages.Claim, error) {
	if err := s.sameSite.Check(edge.ExchangeOf(ctx).Request); err != nil {
		return pages.Claim{}, fault.New(fault.InsufficientScope, "The form was not sent by this service's own page.").WithCause(err)
	}
	person, err := edge.ExchangeOf(ctx).SignIn()
	if err != nil {
		return pages.Claim{}, err
	}
	claim, problem, err := s.findClaim(ctx, person, form.Code)
	if err != nil {
		return pages.Claim{}, err
	}
	if problem != "" {
		return pages.Claim{View: pages.ViewForm, Typed: form.Code, Problem: problem}, nil
	}
	if !s.validClaimToken(form.Token, person.AccountID, claim.Hash) {
		return pages.Claim{}, fault.New(fault.InsufficientScope, "The form is not that of this session and code; load the page again.")
	}
	decide, done := s.Service.DenyDeviceCode, pages.ViewDenied
	if form.Decision == api.Approve {
		decide, done = s.Service.ApproveDeviceCode, pages.ViewApproved
	}
	switch err := decide(ctx, person, claim.Hash); {
	case fault.Has(err, fault.ResourceConflict):
		return pages.Claim{View: pages.ViewForm, Problem: problemDecided}, nil
	case fault.Has(err, fault.DeviceCodeExpired):
		return pages.Claim{View: pages.ViewForm, Problem: problemExpired}, nil
	case err != nil:
		return pages.Claim{}, err
	}
	return pages.Claim{View: done}, nil
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

// review is the page that asks a person to decide about a request.
func (s *server) review(person command.Caller, c claim) pages.Claim {
	return pages.Claim{View: pages.ViewReview, Review: pages.Review{
		UserCode: account.FormatUserCode(c.UserCode), AccountID: person.AccountID, ByKey: c.RequesterKeyID != "",
		Approved: c.Status == account.DeviceApproved, RequestedAt: c.RequestedAt, ExpiresAt: c.ExpiresAt, Now: s.Service.Now(),
		Token: s.claimToken(person.AccountID, c.Hash),
	}}
}

// claimToken binds the form to whom it was shown and to the request that was shown, so
// that no other site can send it. It ends with the request.
func (s *server) claimToken(accountID, codeHash string) string {
	mac := hmac.New(sha256.New, s.FormKey)
	_, _ = fmt.Fprintf(mac, "claim\n%s\n%s", accountID, codeHash)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *server) validClaimToken(token, accountID, codeHash string) bool {
	return hmac.Equal([]byte(token), []byte(s.claimToken(accountID, codeHash)))
}

// signInURL leads to the issuer of sessions, which sends the person back to where they
// were; it is empty when the issuer's name is no web address.
func (s *server) signInURL(typed string) string {
	issuer, err := url.Parse(s.Sessions.Issuer())
	if err != nil || (issuer.Scheme != "https" && issuer.Scheme != "http") || issuer.Host == "" {
		return ""
	}
	back := s.url("/claim")
	if code, ok := account.ParseUserCode(typed); ok {
		back += "?" + url.Values{"code": {account.FormatUserCode(code)}}.Encode()
	}
	query := issuer.Query()
	query.Set("return_to", back)
	issuer.RawQuery = query.Encode()
	return issuer.String()
}

// originOf is the scheme and the host of an address.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("httpapi: the public URL: %w", err)
	}
	return u.Scheme + "://" + u.Host, nil
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
