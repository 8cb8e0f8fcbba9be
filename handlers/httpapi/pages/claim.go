package pages

import (
	"fmt"
	"time"
)

// View is a state of the claim page.
type View string

// The states of the claim page. templates/claim.html has one branch for each.
const (
	ViewOff        View = "off"
	ViewSignIn     View = "sign in"
	ViewRestricted View = "restricted"
	ViewForm       View = "form"
	ViewReview     View = "review"
	ViewApproved   View = "approved"
	ViewDenied     View = "denied"
)

// Claim has the values of the claim page.
type Claim struct {
	View View
	// SignInURL is empty if the session issuer is not a web address.
	SignInURL string
	// Typed is the code as it was entered, and Problem the message about it.
	Typed, Problem string
	Review         Review
}

// Review is the request that a person approves or denies.
type Review struct {
	// UserCode is formatted in groups.
	UserCode  string
	AccountID string
	// ByKey is true if the program that asks has an API key.
	ByKey    bool
	Approved bool
	// The page shows RequestedAt and ExpiresAt relative to Now.
	RequestedAt, ExpiresAt, Now time.Time
	// Token binds the form to the session and the request.
	Token string
}

// RequestedAgo returns the time since the request as text.
func (r Review) RequestedAgo() string { return minutes(r.Now.Sub(r.RequestedAt)) }

// ExpiresIn returns the time until the request expires as text.
func (r Review) ExpiresIn() string { return minutes(r.ExpiresAt.Sub(r.Now)) }

// minutes returns a duration as text, rounded to minutes.
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

// Claim renders the claim page. Its headers forbid scripts and caching, and prevent other
// sites from framing it and from learning its address.
func (p *Pages) Claim(c Claim) (Page, error) {
	return personal(rendered(claimTemplate, claimPolicy, map[string]any{"Title": "Approve an API key", "Claim": c}))
}
