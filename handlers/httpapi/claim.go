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
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

// GetClaimPage answers GET /claim: the page on which a person approves a billed key for a
// program (docs/contract.md#device-codes). Mistakes of the person are shown on the page.
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

// claimPage returns what a person who opens the page sees.
func (s *server) claimPage(ctx context.Context, typed string) (pages.Claim, error) {
	if !s.peopleSignIn() {
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

// DecideClaim answers POST /claim, which the form of the page sends. For a signed-in person
// the result is always a page. Requests that the form did not send are refused. Errors:
// insufficient_scope for a request of another site or without the token of the page,
// invalid_api_key without a session.
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
		return pages.Claim{}, fault.New(fault.InsufficientScope, "The form was sent from another site. Open the claim page and try again.").WithCause(err)
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
		return pages.Claim{}, fault.New(fault.InsufficientScope, "The form belongs to another session or code. Load the page again.")
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

// Messages about a code, for the person who entered it.
const (
	problemForm    = "A code has eight letters, such as BCDF-GHJK. Check the code in your program."
	problemUnknown = "There is no request with this code. Check the code in your program."
	problemExpired = "This request is closed: it was decided or has expired. Start again in your program to get a new code."
	problemDecided = "This request was already approved or denied."
	problemTooMany = "Too many wrong codes. Wait 15 minutes, then try again."
)

// claim is an open request with its user code.
type claim struct {
	account.DeviceCode
	UserCode string
}

// findClaim finds the open request of a code that a person entered, or returns a problem
// with the code. Wrong codes are counted and limited, so that codes cannot be guessed.
func (s *server) findClaim(ctx context.Context, person command.Caller, typed string) (found claim, problem string, err error) {
	userCode, ok := account.ParseUserCode(typed)
	if !ok {
		return claim{}, problemForm, nil
	}
	d, known, err := s.deviceCodeOf(ctx, account.HashSecret(userCode))
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

// deviceCodeOf finds a device code by the hash of its user code. The row only leads to the events, which decide: the
// owner of the database could write the user code of one program into the row of another.
func (s *server) deviceCodeOf(ctx context.Context, userCodeHash string) (account.DeviceCode, bool, error) {
	row, known, err := s.Resources.DeviceCodeOfUser(ctx, userCodeHash)
	if err != nil || !known {
		return account.DeviceCode{}, false, err
	}
	d, _, err := s.Service.DeviceCodeState(ctx, row.Hash)
	if err != nil {
		return account.DeviceCode{}, false, err
	}
	if d.UserCodeHash != userCodeHash {
		if s.Forged != nil {
			s.Forged(&eventstore.ForgedError{
				Stream: fold.DeviceCode.Stream(row.Hash), Row: "row of the table device_codes", Problem: "its user code differs from the events of the stream",
			})
		}
		return account.DeviceCode{}, false, nil
	}
	return d, true, nil
}

// review returns the page that asks a person to approve or deny a request.
func (s *server) review(person command.Caller, c claim) pages.Claim {
	return pages.Claim{View: pages.ViewReview, Review: pages.Review{
		UserCode: account.FormatUserCode(c.UserCode), AccountID: person.AccountID, ByKey: c.RequesterKeyID != "",
		Approved: c.Status == account.DeviceApproved, RequestedAt: c.RequestedAt, ExpiresAt: c.ExpiresAt, Now: s.Service.Now(),
		Token: s.claimToken(person.AccountID, c.Hash),
	}}
}

// claimToken binds the form to the account and the request, so that another site cannot
// forge it. It is useless once the request is decided or expired.
func (s *server) claimToken(accountID, codeHash string) string {
	mac := hmac.New(sha256.New, s.FormKey)
	_, _ = fmt.Fprintf(mac, "claim\n%s\n%s", accountID, codeHash)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *server) validClaimToken(token, accountID, codeHash string) bool {
	return hmac.Equal([]byte(token), []byte(s.claimToken(accountID, codeHash)))
}

// signInURL returns the address of the sign-in page that leads back to the claim.
func (s *server) signInURL(typed string) string {
	back := "/claim"
	if code, ok := account.ParseUserCode(typed); ok {
		back += "?" + url.Values{"code": {account.FormatUserCode(code)}}.Encode()
	}
	return s.signInAt(back)
}

// originOf returns the scheme and the host of an address.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("httpapi: the public URL: %w", err)
	}
	return u.Scheme + "://" + u.Host, nil
}

// newCrossOriginProtection refuses forms from other sites. It trusts the origin of the
// public URL, because behind a proxy the Host header may differ from it.
func newCrossOriginProtection(publicURL string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	origin, err := originOf(publicURL)
	if err != nil {
		return nil, err
	}
	return p, p.AddTrustedOrigin(origin)
}
