package main

import (
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/signin"
	"vqa/handlers/identity"
)

// checkOIDC refuses an incomplete configuration of the OpenID provider, and one without TLS: somebody on the network
// could state who signs in.
func (c config) checkOIDC() error {
	if c.OIDCIssuer == "" && c.OIDCClientID == "" && c.OIDCClientSecret == "" {
		return nil
	}
	if c.OIDCIssuer == "" || c.OIDCClientID == "" {
		return fmt.Errorf("configuration: set both VQA_OIDC_ISSUER and VQA_OIDC_CLIENT_ID, or none of VQA_OIDC_*")
	}
	if u, err := url.Parse(c.OIDCIssuer); err != nil || u.Host == "" || u.Scheme != "https" {
		return wrongValue("VQA_OIDC_ISSUER", c.OIDCIssuer, "must be an https URL")
	}
	return nil
}

// signIn returns how people sign in. The operator chooses the host of the provider, so it may be in a private network.
func (c config) signIn(key []byte, proxies []netip.Prefix, now func() time.Time) (*httpapi.SignIn, error) {
	s := &httpapi.SignIn{
		Secret: derivedKey(key, "sessions of people"), TicketKey: derivedKey(key, "sign-ins of people"), Network: edge.ClientNetwork(proxies),
	}
	if c.OIDCIssuer == "" {
		return s, nil
	}
	client, err := c.operatorClient(c.OIDCIssuer)
	if err != nil {
		return nil, err
	}
	s.Provider, err = identity.NewOpenID(identity.OpenIDOptions{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret, RedirectURL: signin.CallbackURL(c.PublicURL),
		Transport: client, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("configuration: VQA_OIDC_ISSUER: %w", err)
	}
	return s, nil
}
