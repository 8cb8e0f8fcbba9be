package pages

import (
	"fmt"
	"time"
)

// SignIn has the values of the page on which a person signs in.
type SignIn struct {
	// ReturnTo is the path of this service to open afterwards.
	ReturnTo string
	// Interrupted is true if the person was sent here from the page ReturnTo.
	Interrupted bool
	// SignedInAs is the account of the person who is signed in already, or empty.
	SignedInAs string
	// Link is the secret of a one-time link, which the form sends, or empty.
	Link string
	// Provider is the host of the OpenID provider, and ProviderURL starts a sign-in there. Both are empty if there
	// is none.
	Provider, ProviderURL string
	// Passkeys is true where passkeys work: on https and on localhost.
	Passkeys bool
}

// SessionRow is a session in the list of an account.
type SessionRow struct {
	ID, Method, Browser, Network string
	OpenedAt, LastUsedAt, EndsAt time.Time
	// Current is true for the session of this browser.
	Current bool
}

// PasskeyRow is a passkey in the list of an account.
type PasskeyRow struct {
	ID, Browser  string
	RegisteredAt time.Time
	// LastUsedAt is nil for a passkey that was never used.
	LastUsedAt *time.Time
}

// Account has the values of the page of an account's sessions and passkeys.
type Account struct {
	AccountID string
	// Now is the time that the ages of the rows refer to.
	Now      time.Time
	Sessions []SessionRow
	// Passkeys is true where passkeys work.
	Passkeys bool
	Keys     []PasskeyRow
	// Notice says what the last form did, or is empty.
	Notice string
}

// Others reports whether there is another session than that of this browser.
func (a Account) Others() bool { return len(a.Sessions) > 1 }

// Ago returns the time since t as text.
func (a Account) Ago(t time.Time) string { return rough(a.Now.Sub(t)) + " ago" }

// In returns the time until t as text.
func (a Account) In(t time.Time) string { return "in " + rough(t.Sub(a.Now)) }

// rough returns a duration as text, in its largest unit.
func rough(d time.Duration) string {
	plural := func(n int, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d < time.Hour:
		return minutes(d)
	case d < 48*time.Hour:
		return plural(int(d/time.Hour), "hour")
	default:
		return plural(int(d/(24*time.Hour)), "day")
	}
}

// Problem has the values of a page about a refused request.
type Problem struct {
	// Message says what is wrong and what to do.
	Message string
	// SignIn is true if signing in again may help.
	SignIn bool
	// RequestID names the request for the operator.
	RequestID string
}

// The policies of these pages allow one script of this service, where there are passkeys.
const (
	peoplePolicy = "default-src 'none'; img-src data:; script-src 'self'; connect-src 'self'; style-src %s; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
	problemPolicy = "default-src 'none'; img-src data:; style-src %s; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// SignIn renders the page on which a person signs in.
func (p *Pages) SignIn(s SignIn) (Page, error) {
	return personal(rendered(signInPage, peoplePolicy, map[string]any{"Title": "Sign in", "SignIn": s, "Passkeys": s.Passkeys}))
}

// Account renders the sessions and passkeys of an account.
func (p *Pages) Account(a Account) (Page, error) {
	return personal(rendered(accountPage, peoplePolicy, map[string]any{"Title": "Your sessions", "Account": a, "Passkeys": a.Passkeys}))
}

// Problem renders a page about a refused request.
func (p *Pages) Problem(s Problem) (Page, error) {
	return personal(rendered(problemPage, problemPolicy, map[string]any{"Title": "This did not work", "Problem": s}))
}

// PasskeyScript returns the script of the pages with passkeys.
func (p *Pages) PasskeyScript() []byte { return passkeyScript }

// personal adds the headers of a page that only one person may see.
func personal(page Page, err error) (Page, error) {
	if err != nil {
		return Page{}, err
	}
	page.Headers["X-Frame-Options"] = "DENY"
	page.Headers["Cross-Origin-Opener-Policy"] = "same-origin"
	page.Headers["Cache-Control"] = "no-store"
	page.Headers["Vary"] = "Cookie, Authorization"
	return page, nil
}
