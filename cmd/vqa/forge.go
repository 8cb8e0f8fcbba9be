package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"

	"vqa/handlers/command"
	"vqa/handlers/identity"
)

// checkForge refuses an incomplete configuration of the identity check. It also refuses URLs without
// TLS, because others could read the token. An address of this machine may do without TLS, for tests.
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
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && net.ParseIP(u.Hostname()).IsLoopback()) {
			return fmt.Errorf("configuration: %s is %q, but it must be an https URL, or an http URL of a loopback address such as 127.0.0.1", name, address)
		}
	}
	return nil
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
		if out, err = c.operatorClient(c.ForgeDeviceCodeURL, c.ForgeAccessTokenURL, c.ForgeUserURL); err != nil {
			return nil, err
		}
	}
	return identity.New(identity.Options{
		ClientID: c.ForgeClientID, DeviceCodeURL: c.ForgeDeviceCodeURL, AccessTokenURL: c.ForgeAccessTokenURL, UserURL: c.ForgeUserURL,
		Transport: out,
	})
}
