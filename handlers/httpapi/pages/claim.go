package pages

import (
	"fmt"
	"time"
)

// View is which of its faces the claim page shows.
type View string

// The faces of the claim page; templates/claim.html has one branch for each.
const (
	ViewOff        View = "off"
	ViewSignIn     View = "sign in"
	ViewRestricted View = "restricted"
	ViewForm       View = "form"
	ViewReview     View = "review"
	ViewApproved   View = "approved"
	ViewDenied     View = "denied"
)

// Claim is what the claim page shows.
type Claim struct {
	View View
	// SignInURL is empty when the issuer is no address to go to.
	SignInURL string
	// Typed is the code as it was entered, Problem what is wrong with it.
	Typed, Problem string
	Review         Review
}

// Review is the request that a person is asked about.
type Review struct {
	// UserCode is grouped for a reader.
	UserCode  string
	AccountID string
	// ByKey is true when whoever asked showed an API key.
	ByKey    bool
	Approved bool
	// RequestedAt and ExpiresAt are shown as they are and by their distance from Now.
	RequestedAt, ExpiresAt, Now time.Time
	// Token binds the form to the session and the request.
	Token string
}

// RequestedAgo is the time since the request, in words.
func (r Review) RequestedAgo() string { return minutes(r.Now.Sub(r.RequestedAt)) }

// ExpiresIn is the time for which the request is open, in words.
func (r Review) ExpiresIn() string { return minutes(r.ExpiresAt.Sub(r.Now)) }

// minutes puts a duration into words.
func minutes(d time.Duration) string {
	switch n := int(d.Round(time.Minute) / time.Minute); {
	case d < time.Minute:
		return "less than a minute"
	case n == 1:
		return "1 minute"
	default:
		return fmt.Sprintf("%d minutes", n)
	}
}

// Claim renders the claim page with the headers that keep it to itself: no other site
// may frame it, send its form or learn its address, and no script runs in it.
func (p *Pages) Claim(c Claim) (Page, error) {
	page, err := rendered(claimTemplate, claimPolicy, map[string]any{"Title": "Approve an API key", "Claim": c})
	if err != nil {
		return Page{}, err
	}
	page.Headers["X-Frame-Options"] = "DENY"
	page.Headers["Cross-Origin-Opener-Policy"] = "same-origin"
	page.Headers["Cache-Control"] = "no-store"
	page.Headers["Vary"] = "Cookie, Authorization"
	return page, nil
}
