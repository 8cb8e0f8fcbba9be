package signin

import (
	"net/http"
	"net/url"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

// maxLink is the longest secret of a link in bytes.
const maxLink = 200

// signInPage answers GET /signin. It shows no redirect and uses nothing up.
func (h *Handler) signInPage(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	returnTo, err := returnPath(query.Get("return_to"))
	if err != nil {
		return err
	}
	shown := pages.SignIn{
		ReturnTo: returnTo, Interrupted: query.Has("return_to"), Link: query.Get("link"), Passkeys: h.party != nil,
	}
	if h.Provider != nil {
		shown.Provider, shown.ProviderURL = h.Provider.Name(), edge.SignInPath+"/provider?return_to="+url.QueryEscape(returnTo)
	}
	if len(shown.Link) > maxLink {
		return fault.Invalid(fault.Violation{Param: "link", Code: fault.Length, Message: "must be the secret of a link"})
	}
	x := edge.ExchangeOf(r.Context())
	switch person, err := x.SignIn(); {
	case err == nil:
		shown.SignedInAs = person.AccountID
	case !fault.Has(err, fault.InvalidAPIKey) && !fault.Has(err, fault.AccountRestricted):
		return err
	}
	page, err := h.Pages.SignIn(shown)
	if err != nil {
		return err
	}
	h.write(w, http.StatusOK, page)
	return nil
}

// useLink answers POST /signin/link, which the form of the page sends. Errors: invalid_api_key for a link that is
// not valid, rate_limit_exceeded, account_restricted.
func (h *Handler) useLink(w http.ResponseWriter, r *http.Request) error {
	x := edge.ExchangeOf(r.Context())
	if err := x.CountAttempt("signin", attemptsPerMinute); err != nil {
		return err
	}
	fields, err := form(w, r)
	if err != nil {
		return err
	}
	returnTo, err := returnPath(fields.Get("return_to"))
	if err != nil {
		return err
	}
	opened, err := h.Service.UseSignInLink(r.Context(), fields.Get("link"), h.browser(r))
	if err != nil {
		return err
	}
	h.signedIn(r, opened)
	return seeOther(w, returnTo)
}
