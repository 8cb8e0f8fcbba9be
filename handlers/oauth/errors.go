package oauth

// Code is an error code of OAuth.
type Code string

// The codes of RFC 6749, RFC 7591 and RFC 8707.
const (
	InvalidRequest          Code = "invalid_request"
	InvalidClient           Code = "invalid_client"
	InvalidGrant            Code = "invalid_grant"
	InvalidScope            Code = "invalid_scope"
	InvalidTarget           Code = "invalid_target"
	InvalidRedirectURI      Code = "invalid_redirect_uri"
	InvalidClientMetadata   Code = "invalid_client_metadata"
	UnsupportedResponseType Code = "unsupported_response_type"
	UnsupportedGrantType    Code = "unsupported_grant_type"
	AccessDenied            Code = "access_denied"
)

// Error is an error that the client of the server sees.
type Error struct {
	Code Code `json:"error"`
	// Description names the parameter, the problem and the remedy.
	Description string `json:"error_description"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Description }

// Is makes errors.Is compare errors by their code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func refuse(code Code, description string) error { return &Error{code, description} }
