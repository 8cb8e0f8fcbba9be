package httpapi

import (
	"net/url"

	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/signin"
)

// people returns the pages on which people sign in, and the tokens of pages, or nil if people cannot sign in.
func (s *server) people() (edge.People, *edge.SessionTokens, error) {
	if s.SignIn == nil {
		return nil, nil, nil
	}
	tokens, err := edge.NewSessionTokens(s.SignIn.Secret, s.PublicURL, s.Service.Now)
	if err != nil {
		return nil, nil, err
	}
	h, err := signin.New(signin.Options{
		Service: s.Service, Read: s.Resources, Pages: s.pages, Tokens: tokens, PublicURL: s.PublicURL, SameSite: s.sameSite,
		Network: s.SignIn.Network, Log: s.Log, Provider: s.SignIn.Provider, TicketKey: s.SignIn.TicketKey,
	})
	if err != nil {
		return nil, nil, err
	}
	return h, tokens, nil
}

// signInAt returns the address of the page on which a person signs in and then comes back to a path of this
// service. The page of the configured issuer goes before the one of this service. It is empty if the issuer
// is not a web address.
func (s *server) signInAt(path string) string {
	if s.Sessions == nil {
		return edge.SignInPath + "?return_to=" + url.QueryEscape(path)
	}
	issuer, err := url.Parse(s.Sessions.Issuer())
	if err != nil || (issuer.Scheme != "https" && issuer.Scheme != "http") || issuer.Host == "" {
		return ""
	}
	query := issuer.Query()
	query.Set("return_to", s.url(path))
	issuer.RawQuery = query.Encode()
	return issuer.String()
}

// peopleSignIn reports whether people can sign in at all.
func (s *server) peopleSignIn() bool { return s.Sessions != nil || s.SignIn != nil }
