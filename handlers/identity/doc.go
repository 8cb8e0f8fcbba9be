// Package identity asks a provider of identities, a forge, who holds a token (api-v1.md,
// POST /v1/keys/upgrade). The caller gets the token by the provider's own device flow
// (RFC 8628); this package only tells where that is, and checks what comes of it.
//
// # Guarantees
//
//   - A token goes to the configured URL and nowhere else: no redirect is followed. It is
//     neither stored nor logged, and is in no error.
//   - Of the provider's answer only the number of the account is kept.
//   - Asking takes at most 10 s, and at most 64 KiB of an answer are read.
//   - A provider that refuses a token is told from one that does not work:
//     forge_token_invalid and upstream_error.
//
// It may import domain and the standard library. The way out is handed in.
package identity
