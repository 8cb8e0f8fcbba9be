package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"

	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake/egress"
)

// checkSessions refuses half a configuration, and keys that could be swapped on their
// way.
func (c config) checkSessions() error {
	if c.SessionIssuer == "" && c.SessionKeysURL == "" {
		return nil
	}
	if c.SessionIssuer == "" || c.SessionKeysURL == "" {
		return fmt.Errorf("configuration: VQA_SESSION_ISSUER and VQA_SESSION_JWKS_URL: both or none")
	}
	issuer, err := url.Parse(c.SessionIssuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "http" && issuer.Scheme != "https" {
		return fmt.Errorf("configuration: VQA_SESSION_ISSUER: %q is not an http or https URL", c.SessionIssuer)
	}
	keys, err := url.Parse(c.SessionKeysURL)
	if err != nil || keys.Host == "" || keys.Scheme != "https" {
		return fmt.Errorf("configuration: VQA_SESSION_JWKS_URL: %q is not an https URL", c.SessionKeysURL)
	}
	return nil
}

// sessions verifies first-party sessions, or is nil when none are accepted. The host of
// the keys is the operator's choice, so that it may be one of a private network.
func (c config) sessions() (*edge.Sessions, error) {
	if c.SessionIssuer == "" {
		return nil, nil
	}
	keys, err := url.Parse(c.SessionKeysURL)
	if err != nil {
		return nil, fmt.Errorf("configuration: VQA_SESSION_JWKS_URL: %w", err)
	}
	host := net.JoinHostPort(keys.Hostname(), cmp.Or(keys.Port(), "443"))
	client, err := egress.New(egress.Options{Allow: []string{host}, CAFile: c.EgressCAFile})
	if err != nil {
		return nil, fmt.Errorf("the client for the keys of sessions: %w", err)
	}
	return edge.NewSessions(edge.SessionOptions{
		Issuer: c.SessionIssuer, Audience: c.SessionAudience, KeysURL: c.SessionKeysURL, Transport: client, Now: clock,
	}), nil
}
