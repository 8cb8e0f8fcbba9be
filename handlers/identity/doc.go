// Package identity verifies tokens of an identity provider, the forge
// (docs/contract.md#upgrade). The caller gets the token with the device flow of the provider
// (RFC 8628). This package returns the addresses of that flow and checks the token.
//
// # Guarantees
//
//   - A token is sent only to the configured URL. Redirects are not followed. The token is
//     not stored, not logged and not in any error.
//   - Only the account number is kept from the response of the provider.
//   - A check takes at most 10 s and reads at most 64 KiB.
//   - The error is forge_token_invalid if the provider refuses the token, and upstream_error
//     if the provider fails.
//
// It is also the OpenID provider at which people sign in (OpenID): the code flow with PKCE, a nonce and a state.
// Of the statement of the provider, only the subject and a verified email address are kept. The signature, the issuer, the audience, the times
// and the nonce are checked.
//
// It may import domain, go-oidc, oauth2 and the standard library. The caller passes the HTTP transport.
package identity
