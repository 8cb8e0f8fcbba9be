package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"vqa/handlers/command"
	"vqa/handlers/identity"
	"vqa/handlers/intake/egress"
)

// checkForge refuses an incomplete configuration of the identity check. It also refuses URLs without
// TLS, because others could read the token. A target of VQA_EGRESS_ALLOW may do without TLS, for
// example on a test machine.
func (c config) checkForge() error {
	addresses := map[string]string{
		"VQA_FORGE_DEVICE_CODE_URL": c.ForgeDeviceCodeURL, "VQA_FORGE_ACCESS_TOKEN_URL": c.ForgeAccessTokenURL, "VQA_FORGE_USER_URL": c.ForgeUserURL,
	}
	for name, address := range addresses {
		switch {
		case (c.ForgeClientID == "") != (address == ""):
			return fmt.Errorf("configuration: set both VQA_FORGE_CLIENT_ID and %s, or neither: the identity check needs all four VQA_FORGE_* settings", name)
		case address == "":
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.User != nil || !c.mayReach(u) {
			return fmt.Errorf("configuration: %s is %q, but it must be an https URL, or an http URL of a target in VQA_EGRESS_ALLOW", name, address)
		}
	}
	return nil
}

func (c config) mayReach(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains(c.EgressAllow, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
}

// identities returns the identity check before an upgrade, or nil when there is none. The operator
// chooses the host, so it may be in a private network.
func (c config) identities() (command.Identities, error) {
	if c.ForgeClientID == "" {
		return nil, nil
	}
	u, err := url.Parse(c.ForgeUserURL)
	if err != nil {
		return nil, fmt.Errorf("configuration: VQA_FORGE_USER_URL: %w", err)
	}
	var out http.RoundTripper = &http.Transport{DisableKeepAlives: true}
	if u.Scheme == "https" {
		host := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
		if out, err = egress.New(egress.Options{Allow: []string{host}, CAFile: c.EgressCAFile}); err != nil {
			return nil, fmt.Errorf("opening the HTTP client of the identity check: %w", err)
		}
	}
	return identity.New(identity.Options{
		ClientID: c.ForgeClientID, DeviceCodeURL: c.ForgeDeviceCodeURL, AccessTokenURL: c.ForgeAccessTokenURL, UserURL: c.ForgeUserURL,
		Transport: out,
	})
}
