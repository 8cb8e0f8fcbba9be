// Package signin serves the pages on which people sign in and see their sessions.
//
//	GET  /signin                    the ways to sign in; with link=, the button of a one-time link
//	POST /signin/link               signs in with a one-time link
//	GET  /signin/provider           goes to the OpenID provider, which sends the browser to /signin/callback
//	POST /signin/passkey            signs in with a passkey, after /signin/passkey/options
//	POST /signout                   ends the session of this browser
//	GET  /account/sessions          the sessions and passkeys of the account
//	POST /account/sessions/revoke   ends another session, or all others
//	POST /account/passkeys          adds a passkey, after /account/passkeys/options; /remove removes one
//	POST /session/token             a token of 5 minutes with which a page of this service calls the API
//
// # A session
//
//	browser  | request             | next      | effect
//	stranger | a proof that holds  | signed in | a new secret in the cookie; the log has its hash
//	stranger | any other           | stranger  | a page that says what to do
//	signed in | a proof that holds | signed in | the old session ends, the new one has another secret
//	signed in | sign out, revoke   | stranger  | the session ends on all nodes at once
//
// # Guarantees
//
//   - A browser is signed in with a secret that this service chose just then, so no other site can fix it.
//   - A form of another site is refused (http.CrossOriginProtection), so no other site signs a person in or out.
//   - After sign-in, a browser goes to a path of this service only (returnPath).
//   - A sign-in at the provider or with a passkey ends in the browser that started it: an encrypted cookie has its
//     state, for ten minutes. Each opens one session at most.
//   - A passkey verifies its owner. One whose counter did not grow is refused.
//   - A one-time link works once and opens nothing by itself: a preview of the link does not use it up.
//   - An account has at most account.MaxSessions sessions: a sign-in ends the oldest.
//   - Attempts are counted by address, 10 in a minute over all nodes; so are the answers of a provider. No answer says whether a person or a
//     passkey exists.
//   - Secrets are in no log: they are in cookies, in bodies, or in the query of a page that sends no referrer.
//
// It may import domain, handlers/command, handlers/httpapi/edge and pages, go-webauthn and the standard
// library.
package signin
