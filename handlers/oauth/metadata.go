package oauth

import "strings"

// The paths of the endpoints. Clients that cannot discover them guess these.
const (
	AuthorizePath = "/authorize"
	TokenPath     = "/token"
	RegisterPath  = "/register"
	RevokePath    = "/revoke"
)

// The paths of the documents. Clients look for the resource with and without its path.
const (
	ServerMetadataPath   = "/.well-known/oauth-authorization-server"
	ResourceMetadataPath = "/.well-known/oauth-protected-resource"
)

// Server is the metadata of the authorization server (RFC 8414).
type Server struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	// IssuerInResponse says that redirects carry iss (RFC 9207).
	IssuerInResponse bool `json:"authorization_response_iss_parameter_supported"`
	// Documents says that a client_id may be the address of a metadata document.
	Documents     bool   `json:"client_id_metadata_document_supported"`
	Documentation string `json:"service_documentation"`
}

// Resource is the metadata of the agent tool endpoint (RFC 9728).
type Resource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
	Documentation        string   `json:"resource_documentation"`
}

// ServerMetadata returns the metadata of the server at publicURL, which has no trailing slash.
func ServerMetadata(publicURL string) Server {
	return Server{
		Issuer: publicURL, AuthorizationEndpoint: publicURL + AuthorizePath, TokenEndpoint: publicURL + TokenPath,
		RegistrationEndpoint: publicURL + RegisterPath, RevocationEndpoint: publicURL + RevokePath,
		Scopes: []string{Scope}, ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ChallengeMethods: []string{S256},
		TokenAuthMethods: []string{"none"}, RevocationAuthMethods: []string{"none"},
		IssuerInResponse: true, Documents: true, Documentation: publicURL + "/docs",
	}
}

// ResourceMetadata returns the metadata of the endpoint at path, such as /mcp.
func ResourceMetadata(publicURL, path string) Resource {
	return Resource{
		Resource: publicURL + path, AuthorizationServers: []string{publicURL}, Scopes: []string{Scope}, BearerMethods: []string{"header"},
		Name: "Questions about video", Documentation: publicURL + "/docs",
	}
}

// Challenge adds the address of the resource's metadata to a WWW-Authenticate header.
func Challenge(header, publicURL, path string) string {
	parameter := `resource_metadata="` + publicURL + ResourceMetadataPath + path + `", scope="` + Scope + `"`
	if scheme, rest, found := strings.Cut(header, " "); found {
		return scheme + " " + rest + ", " + parameter
	}
	return header + " " + parameter
}
