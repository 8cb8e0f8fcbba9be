package oauth

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxRedirects is the most redirect addresses of a client. Cursor registers three.
	maxRedirects = 10
	// maxName is the longest name of a client in characters. The consent page shows it.
	maxName = 100
	// MaxDocument is the largest metadata document in bytes.
	MaxDocument = 5 << 10
)

// Client is what a client says about itself. Its name is not verified; the consent page says so.
type Client struct {
	// ID is the address of a metadata document. It is empty in a registration.
	ID           string   `json:"client_id,omitempty"`
	Name         string   `json:"client_name,omitempty"`
	RedirectURIs []string `json:"redirect_uris"`
	// GrantTypes, ResponseTypes and AuthMethod have one possible value each. They are returned to the client.
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	Scope         string   `json:"scope"`
	// ApplicationType is native or web.
	ApplicationType string `json:"application_type,omitempty"`
}

// statement is the JSON that a client sends or publishes. Other members are ignored (RFC 7591, section 2).
type statement struct {
	Client
	Others map[string]jsontext.Value `json:",embed"` //nolint:staticcheck // an option of go-json-experiment
}

// members are the members that have a meaning here.
var members = []string{
	"client_id", "client_name", "redirect_uris", "grant_types", "response_types", "token_endpoint_auth_method", "scope", "application_type", "client_secret",
}

// ReadRegistration reads the body of a registration and fills in the defaults. Errors:
// InvalidClientMetadata, InvalidRedirectURI.
func ReadRegistration(body []byte) (Client, error) {
	s, err := readStatement(body)
	if err != nil {
		return Client{}, err
	}
	s.ID = "" // the server chooses it
	// Hosted connectors ask for a secret. The response tells them that they get none (RFC 7591, section 3.2.1).
	s.AuthMethod = "none"
	return s.Client, nil
}

// ReadDocument reads the metadata document of a client. address is where it was read from, and the
// client_id of the client. Errors: InvalidClientMetadata, InvalidRedirectURI.
func ReadDocument(address string, body []byte) (Client, error) {
	if err := CheckDocumentAddress(address); err != nil {
		return Client{}, err
	}
	if len(body) > MaxDocument {
		return Client{}, refuse(InvalidClientMetadata, "The metadata document is larger than 5 KiB.")
	}
	s, err := readStatement(body)
	if err != nil {
		return Client{}, err
	}
	_, secret := s.Others["client_secret"]
	switch {
	case s.AuthMethod != "" && s.AuthMethod != "none":
		return Client{}, refuse(InvalidClientMetadata, "token_endpoint_auth_method in the metadata document must be none: clients are public and prove themselves by PKCE.")
	case s.ID != address:
		return Client{}, refuse(InvalidClientMetadata, "client_id in the metadata document must be the address of the document.")
	case secret:
		return Client{}, refuse(InvalidClientMetadata, "A metadata document is public and must not have a client_secret.")
	case s.Name == "":
		return Client{}, refuse(InvalidClientMetadata, "client_name is missing in the metadata document.")
	}
	s.AuthMethod = "none"
	return s.Client, nil
}

// CheckDocumentAddress checks a client_id that is an address: https with a path, and no part that two
// parsers read differently. Error: InvalidClientMetadata.
func CheckDocumentAddress(address string) error {
	u, err := url.Parse(address)
	odd := strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c > '~' || c == '\\' })
	if err != nil || odd || len(address) > maxRedirect || u.Scheme != "https" || !plainHost(u.Host) || !plainPort(u) || u.User != nil ||
		strings.Contains(address, "#") || u.Path == "" || u.Path == "/" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return refuse(InvalidClientMetadata, "A client_id that is an address must be an https URL with a path, without user, fragment and dot segments. An international host has its xn-- form.")
	}
	return nil
}

func readStatement(body []byte) (statement, error) {
	var s statement
	if err := json.Unmarshal(body, &s); err != nil {
		return s, refuse(InvalidClientMetadata, "The client metadata must be a JSON object with strings and lists of strings, each member once.")
	}
	for name := range s.Others {
		// Another server, or a person who reviews the document, may read such a member as the one that it resembles.
		if lower := strings.ToLower(name); lower != name && slices.Contains(members, lower) {
			return s, refuse(InvalidClientMetadata, "Write the member "+lower+" in lower case.")
		}
	}
	if len(s.RedirectURIs) == 0 || len(s.RedirectURIs) > maxRedirects {
		return s, refuse(InvalidRedirectURI, "redirect_uris must have 1 to 10 addresses.")
	}
	for _, address := range s.RedirectURIs {
		if err := CheckRedirect(address); err != nil {
			return s, err
		}
	}
	if err := s.checkFlow(); err != nil {
		return s, err
	}
	s.GrantTypes, s.ResponseTypes, s.Scope = []string{"authorization_code", "refresh_token"}, []string{"code"}, Scope
	s.Name = strings.TrimSpace(s.Name)
	if utf8.RuneCountInString(s.Name) > maxName || strings.ContainsFunc(s.Name, unprintable) {
		return s, refuse(InvalidClientMetadata, "client_name must have at most 100 printable characters.")
	}
	return s, nil
}

// checkFlow refuses a client that needs a flow that does not exist here. An absent member takes the value
// of this server.
func (s statement) checkFlow() error {
	switch {
	case len(s.GrantTypes) > 0 && !slices.Contains(s.GrantTypes, "authorization_code"):
		return refuse(InvalidClientMetadata, "grant_types must have authorization_code.")
	case len(s.ResponseTypes) > 0 && !slices.Contains(s.ResponseTypes, "code"):
		return refuse(InvalidClientMetadata, "response_types must have code.")
	case s.ApplicationType != "" && s.ApplicationType != "native" && s.ApplicationType != "web":
		return refuse(InvalidClientMetadata, "application_type must be native or web.")
	}
	return nil
}

// unprintable reports a character that can hide or reverse a part of a name on the consent page.
func unprintable(c rune) bool {
	return c == utf8.RuneError || !unicode.IsPrint(c) || unicode.In(c, unicode.Cf, unicode.Co)
}
