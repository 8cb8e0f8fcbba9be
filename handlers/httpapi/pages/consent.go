package pages

import (
	"html/template"
	"time"
)

// Consent has the values of the page on which a person lets a program use the agent tools.
type Consent struct {
	// Problem replaces the form with a message for the person. BackURL, if it is not empty, returns to the program. It
	// must be an accepted redirect address: the page links to any scheme, such as cursor.
	Problem, BackURL string
	// Name is the name that the program gave itself. It may be empty.
	Name string
	// Domain is the host that published the description of the program. It is empty for a program that registered
	// itself, whose name nothing verifies.
	Domain string
	// RedirectHost is where the person is sent afterwards: a host, or the scheme of a program. OnThisMachine is
	// true for an address of the person's own machine, which any program on it can receive.
	RedirectHost  string
	OnThisMachine bool
	// Service is the address of the agent tools.
	Service   string
	AccountID string
	// AvailableSeconds are the credits of the account, and PriceText is the price of a second.
	AvailableSeconds int64
	PriceText        string
	// Days is how long the permission lasts.
	Days int
	// Fields are sent back with the decision.
	Fields []Field
	// LimitProblem is a message about the entered limit, and Limit the limit as it was entered.
	LimitProblem, Limit string
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// consentPolicy has no form-action: browsers apply it to the redirect after the form, too, and a program may be at any
// address.
const consentPolicy = "default-src 'none'; img-src data:; style-src %s; base-uri 'none'; frame-ancestors 'none'"

// ConsentPage renders the consent page. Its headers forbid scripts, frames and caching.
func ConsentPage(c Consent) (Page, error) {
	title := "Let a program ask about your videos?"
	if c.Problem != "" {
		title = "The program cannot connect"
	}
	return personal(rendered(consentTemplate, consentPolicy, map[string]any{
		"Title": title, "Consent": c, "Back": template.URL(c.BackURL), //nolint:gosec // the caller checked the scheme
	}))
}

// Agents has the values of the page of the permissions of an account.
type Agents struct {
	AccountID string
	Agents    []Agent
	// Done is a message about the last change, or empty.
	Done string
}

// Agent is a permission that a person gave.
type Agent struct {
	GrantID, Name, ClientID string
	// Livemode is false for a permission that is limited to the free sample video.
	Livemode bool
	// Status is active, expired or revoked.
	Status       string
	ApprovedAt   time.Time
	UsedAt       time.Time
	ExpiresAt    time.Time
	SpentSeconds int64
	// LimitSeconds is 0 without a limit.
	LimitSeconds int64
	// Token binds the form to the session and the permission. It is empty for a permission that has ended.
	Token string
}

// AgentsPage renders the page of permissions. Its headers forbid scripts, frames and caching.
func AgentsPage(a Agents) (Page, error) {
	return personal(rendered(agentsTemplate, claimPolicy, map[string]any{"Title": "Programs that use your account", "Agents": a}))
}
