package signin

import (
	"context"
	"crypto/subtle"
	"net/http"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
)

// callbackPath is where the provider sends the browser back to.
const callbackPath = edge.SignInPath + "/callback"

// Provider is an OpenID provider.
type Provider interface {
	// Issuer is the issuer of its statements, and Name its host.
	Issuer() string
	Name() string
	// Start returns the address at the provider where a sign-in starts. Error: upstream_error.
	Start(ctx context.Context, state, nonce, verifier string) (string, error)
	// Finish exchanges the code of a sign-in for the subject of the person and the verified email address, if the
	// provider states one. Errors: invalid_api_key if the provider does not confirm the sign-in, upstream_error.
	Finish(ctx context.Context, code, nonce, verifier string) (subject, email string, err error)
}

// CallbackURL is the address that the operator registers at the provider.
func CallbackURL(publicURL string) string { return publicURL + callbackPath }

func (h *Handler) routeProvider() {
	if h.Provider == nil {
		return
	}
	h.route("GET "+edge.SignInPath+"/provider", h.startProvider)
	h.route("GET "+callbackPath, h.finishProvider)
}

// startProvider answers GET /signin/provider: it sends the browser to the provider, with values that are bound to
// this browser. Errors: rate_limit_exceeded, upstream_error.
func (h *Handler) startProvider(w http.ResponseWriter, r *http.Request) error {
	if err := edge.ExchangeOf(r.Context()).CountAttempt("signin", attemptsPerMinute); err != nil {
		return err
	}
	returnTo, err := returnPath(r.URL.Query().Get("return_to"))
	if err != nil {
		return err
	}
	t := ticket{Purpose: forProvider, ReturnTo: returnTo}
	for _, value := range []*string{&t.State, &t.Nonce, &t.Verifier} {
		if *value, err = account.NewSessionSecret(h.Service.Entropy); err != nil {
			return err
		}
	}
	at, err := h.Provider.Start(r.Context(), t.State, t.Nonce, t.Verifier)
	if err != nil {
		return err
	}
	if err := h.giveTicket(w, r, t); err != nil {
		return err
	}
	return seeOther(w, at)
}

// finishProvider answers GET /signin/callback. A repeated request never reaches the provider after the sign-in, and
// counts as an attempt before. Errors: invalid_api_key for a sign-in that this browser did not start or that the
// provider refused, resource_conflict for one that is complete, rate_limit_exceeded, account_restricted,
// upstream_error.
func (h *Handler) finishProvider(w http.ResponseWriter, r *http.Request) error {
	t, err := h.takeTicket(w, r, forProvider)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(t.State)) != 1 {
		return fault.New(fault.InvalidAPIKey, "The answer of the provider belongs to another sign-in. Start again.")
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != h.Provider.Issuer() { // RFC 9207
		return fault.New(fault.InvalidAPIKey, "The answer comes from another provider. Start again.")
	}
	if query.Get("error") != "" || query.Get("code") == "" {
		return fault.New(fault.InvalidAPIKey, "The provider did not sign you in. Start again, or ask its administrator.")
	}
	proof := "provider " + t.State
	if _, complete, err := h.Read.SessionByID(r.Context(), account.SessionIDFor(proof)); err != nil {
		return err
	} else if complete {
		return fault.New(fault.ResourceConflict, "This sign-in was already completed. Start again.")
	}
	if err := edge.ExchangeOf(r.Context()).CountAttempt("signin/callback", attemptsPerMinute); err != nil {
		return err
	}
	subject, email, err := h.Provider.Finish(r.Context(), query.Get("code"), t.Nonce, t.Verifier)
	if err != nil {
		return err
	}
	person := command.Person{Issuer: h.Provider.Issuer(), Subject: subject, Email: email, Proof: proof}
	opened, err := h.Service.OpenPersonSession(r.Context(), person, h.browser(r))
	if err != nil {
		return err
	}
	h.signedIn(r, opened)
	return seeOther(w, t.ReturnTo)
}
