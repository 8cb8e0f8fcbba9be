package signin

import (
	"net/http"
	"net/url"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

// methods are the names of the ways to sign in.
var methods = map[account.SignInMethod]string{account.ByLink: "one-time link", account.ByProvider: "provider", account.ByPasskey: "passkey"}

// notices say what the last form did. The page gets their name in its address.
var notices = map[string]string{
	"revoked": "That browser is signed out.", "others": "All other browsers are signed out.",
	"added": "The passkey is added.", "removed": "The passkey is removed.",
}

// person returns the person with a session of this service. A browser without one is sent to the page of
// sign-in, unless it sends a form. Errors: invalid_api_key, account_restricted.
func (h *Handler) person(r *http.Request) (command.Caller, account.Session, error) {
	x := edge.ExchangeOf(r.Context())
	caller, err := x.SignIn()
	if err != nil {
		return command.Caller{}, account.Session{}, err
	}
	if !x.OwnSession().Exists() {
		return command.Caller{}, account.Session{}, fault.New(fault.InvalidAPIKey, "The session belongs to another sign-in page. Sign in here first.")
	}
	return caller, x.OwnSession(), nil
}

// account answers GET /account/sessions.
func (h *Handler) account(w http.ResponseWriter, r *http.Request) error {
	caller, current, err := h.person(r)
	if fault.Has(err, fault.InvalidAPIKey) {
		return seeOther(w, edge.SignInPath+"?return_to="+url.QueryEscape(edge.SessionsPath))
	}
	if err != nil {
		return err
	}
	sessions, err := h.Read.Sessions(r.Context(), caller.AccountID, h.Service.Now())
	if err != nil {
		return err
	}
	passkeys, err := h.Read.Passkeys(r.Context(), caller.AccountID)
	if err != nil {
		return err
	}
	shown := pages.Account{AccountID: caller.AccountID, Now: h.Service.Now(), Passkeys: h.party != nil, Notice: notices[r.URL.Query().Get("done")]}
	for _, s := range sessions {
		shown.Sessions = append(shown.Sessions, pages.SessionRow{
			ID: s.ID, Method: methods[s.Method], Browser: s.Browser, Network: s.Network, OpenedAt: s.OpenedAt, LastUsedAt: s.LastUsedAt,
			EndsAt: s.End(), Current: s.ID == current.ID,
		})
	}
	for _, k := range passkeys.Keys {
		shown.Keys = append(shown.Keys, pages.PasskeyRow{ID: k.ID, Browser: k.Browser, RegisteredAt: k.RegisteredAt, LastUsedAt: k.LastUsedAt})
	}
	page, err := h.Pages.Account(shown)
	if err != nil {
		return err
	}
	h.write(w, http.StatusOK, page)
	return nil
}

// revoke answers POST /account/sessions/revoke. Errors: invalid_api_key, resource_not_found.
func (h *Handler) revoke(w http.ResponseWriter, r *http.Request) error {
	caller, current, err := h.person(r)
	if err != nil {
		return err
	}
	fields, err := form(w, r)
	if err != nil {
		return err
	}
	if wanted := fields.Get("session"); wanted != "others" {
		if err := h.Service.RevokeSession(r.Context(), caller, wanted); err != nil {
			return err
		}
		return seeOther(w, edge.SessionsPath+"?done=revoked")
	}
	for {
		sessions, err := h.Read.Sessions(r.Context(), caller.AccountID, h.Service.Now())
		if err != nil {
			return err
		}
		revoked := 0
		for _, s := range sessions {
			if s.ID == current.ID {
				continue
			}
			if err := h.Service.RevokeSession(r.Context(), caller, s.ID); err != nil {
				return err
			}
			revoked++
		}
		if revoked == 0 {
			return seeOther(w, edge.SessionsPath+"?done=others")
		}
	}
}

// signOut answers POST /signout. A browser whose session has ended forgets its cookie, too.
func (h *Handler) signOut(w http.ResponseWriter, r *http.Request) error {
	x := edge.ExchangeOf(r.Context())
	caller, current, err := h.person(r)
	switch {
	case err == nil:
		if err := h.Service.EndSession(r.Context(), caller, current.ID); err != nil {
			return err
		}
	case !fault.Has(err, fault.InvalidAPIKey) && !fault.Has(err, fault.AccountRestricted):
		return err
	}
	x.ClearSession()
	return seeOther(w, edge.SignInPath)
}

// issuedToken is the response of POST /session/token.
type issuedToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
	AccountID string    `json:"account_id"`
}

// token answers POST /session/token: a page of this service exchanges the cookie for a token. A request that
// does not name its origin is refused, because only a browser has a reason to send it. Errors: invalid_api_key,
// insufficient_scope, account_restricted.
func (h *Handler) token(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return fault.New(fault.InsufficientScope, "Only a page of this service gets a token. Use an API key elsewhere.")
	}
	_, current, err := h.person(r)
	if err != nil {
		return err
	}
	token, expires, err := h.Tokens.Issue(current)
	if err != nil {
		return err
	}
	return writeJSON(w, issuedToken{token, expires, current.AccountID})
}
