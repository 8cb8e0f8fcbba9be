package oauth

import (
	"net/url"
	"strings"
)

const (
	// Scope is the only scope: use of the agent tools.
	Scope = "mcp"
	// maxState is the longest state in bytes. It is sent back in the redirect address.
	maxState = 2048
)

// Authorization is the request of a client for the permission of a person.
type Authorization struct {
	ClientID, RedirectURI, State, Challenge, Resource string
}

// ReadClient reads the parameters that say where errors may be sent. An error in them is shown to the
// person and never redirected. Error: InvalidRequest.
func ReadClient(parameters url.Values) (clientID, redirectURI string, err error) {
	if err := single(parameters, "client_id", "redirect_uri"); err != nil {
		return "", "", err
	}
	clientID, redirectURI = parameters.Get("client_id"), parameters.Get("redirect_uri")
	if clientID == "" || redirectURI == "" {
		return "", "", refuse(InvalidRequest, "client_id and redirect_uri are required.")
	}
	return clientID, redirectURI, nil
}

// ReadAuthorization reads the other parameters of a request. resource is the address of the agent tool
// endpoint. Errors: InvalidRequest, UnsupportedResponseType, InvalidScope, InvalidTarget.
func ReadAuthorization(parameters url.Values, resource string) (Authorization, error) {
	clientID, redirectURI, err := ReadClient(parameters)
	if err != nil {
		return Authorization{}, err
	}
	if err := single(parameters, "response_type", "state", "code_challenge", "code_challenge_method", "scope", "resource", "response_mode"); err != nil {
		return Authorization{}, err
	}
	a := Authorization{ClientID: clientID, RedirectURI: redirectURI, State: parameters.Get("state"), Challenge: parameters.Get("code_challenge")}
	if parameters.Get("response_type") != "code" {
		return a, refuse(UnsupportedResponseType, "response_type must be code.")
	}
	if mode := parameters.Get("response_mode"); mode != "" && mode != "query" {
		return a, refuse(InvalidRequest, "response_mode must be query.")
	}
	if len(a.State) > maxState {
		return a, refuse(InvalidRequest, "state must have at most 2048 bytes.")
	}
	if err := CheckChallenge(a.Challenge, parameters.Get("code_challenge_method")); err != nil {
		return a, err
	}
	if err := CheckScope(parameters.Get("scope")); err != nil {
		return a, err
	}
	a.Resource, err = CheckResource(parameters.Get("resource"), resource)
	return a, err
}

// single refuses a repeated parameter. Error: InvalidRequest.
func single(parameters url.Values, names ...string) error {
	for _, name := range names {
		if len(parameters[name]) > 1 {
			return refuse(InvalidRequest, name+" must be sent once.")
		}
	}
	return nil
}

// CheckScope accepts the scope of the server and none. Clients also ask for offline_access to get a
// refresh token, which they get in any case. Error: InvalidScope.
func CheckScope(scope string) error {
	for name := range strings.FieldsSeq(scope) {
		if name != Scope && name != "offline_access" {
			return refuse(InvalidScope, "The only scope is mcp.")
		}
	}
	return nil
}

// CheckResource returns the resource that a token is bound to. An absent one means the agent tool
// endpoint. Clients send the address as the person typed it, so case of the host, the default port and a
// final slash may differ. Error: InvalidTarget.
func CheckResource(given, resource string) (string, error) {
	if given == "" {
		return resource, nil
	}
	g, known := normal(given)
	r, _ := normal(resource)
	if !known || g != r {
		return "", refuse(InvalidTarget, "resource must be "+resource+".")
	}
	return resource, nil
}

// normal returns the comparable form of a resource. ok is false for an address with a part that a resource
// cannot have.
func normal(address string) (form string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(address, "#") || u.Hostname() == "" || u.Opaque != "" {
		return "", false
	}
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port + strings.TrimSuffix(u.EscapedPath(), "/"), true
}

// Redirect returns the address that sends a code to the client. issuer prevents the mix-up of servers
// (RFC 9207).
func (a Authorization) Redirect(code, issuer string) (string, error) {
	return a.redirect(url.Values{"code": {code}}, issuer)
}

// RedirectError returns the address that sends an error to the client.
func (a Authorization) RedirectError(e *Error, issuer string) (string, error) {
	return a.redirect(url.Values{"error": {string(e.Code)}, "error_description": {e.Description}}, issuer)
}

// redirect adds parameters to the redirect address and keeps those that it has. The address must match one
// of the client's.
func (a Authorization) redirect(parameters url.Values, issuer string) (string, error) {
	u, err := parse(a.RedirectURI)
	if err != nil {
		return "", err
	}
	parameters.Set("iss", issuer)
	if a.State != "" {
		parameters.Set("state", a.State)
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += parameters.Encode()
	return u.String(), nil
}
