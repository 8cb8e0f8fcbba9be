package main

import (
	"fmt"
	"net/url"
	"time"

	"vqa/handlers/httpapi/edge"
)

// checkSessions refuses an incomplete configuration. It also refuses a URL of the keys without TLS,
// because somebody on the network could replace the keys.
func (c config) checkSessions() error {
	if c.SessionIssuer == "" && c.SessionKeysURL == "" {
		return nil
	}
	if c.SessionIssuer == "" || c.SessionKeysURL == "" {
		return fmt.Errorf("configuration: set both VQA_SESSION_ISSUER and VQA_SESSION_JWKS_URL, or neither")
	}
	issuer, err := url.Parse(c.SessionIssuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "http" && issuer.Scheme != "https" {
		return wrongValue("VQA_SESSION_ISSUER", c.SessionIssuer, "must be an http or https URL")
	}
	keys, err := url.Parse(c.SessionKeysURL)
	if err != nil || keys.Host == "" || keys.Scheme != "https" {
		return wrongValue("VQA_SESSION_JWKS_URL", c.SessionKeysURL, "must be an https URL")
	}
	return nil
}

// sessions returns the verifier of first-party sessions, or nil when none are accepted. The operator
// chooses the host of the keys, so it may be in a private network.
func (c config) sessions(now func() time.Time) (*edge.Sessions, error) {
	if c.SessionIssuer == "" {
		return nil, nil
	}
	client, err := c.operatorClient(c.SessionKeysURL)
	if err != nil {
		return nil, err
	}
	return edge.NewSessions(edge.SessionOptions{
		Issuer: c.SessionIssuer, Audience: c.SessionAudience, KeysURL: c.SessionKeysURL, Transport: client, Now: now,
	}), nil
}
