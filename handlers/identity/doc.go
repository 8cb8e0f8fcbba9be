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
// It may import domain and the standard library. The caller passes the HTTP transport.
package identity
