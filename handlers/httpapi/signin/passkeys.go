package signin

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
)

// relyingParty returns the checks of passkeys for the address of the service, or nil where browsers have no
// passkeys: on http other than localhost, and on an IP address.
func relyingParty(publicURL string) (*webauthn.WebAuthn, error) {
	u, err := url.Parse(publicURL)
	if err != nil {
		return nil, fmt.Errorf("signin: the public URL: %w", err)
	}
	host := u.Hostname()
	if net.ParseIP(host) != nil || u.Scheme != "https" && host != "localhost" {
		return nil, nil
	}
	party, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "Video question answering", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("signin: the public URL: %w", err)
	}
	return party, nil
}

// owner is the owner of passkeys. Its handle in an authenticator is the id of the account.
type owner struct {
	accountID string
	keys      account.Passkeys
}

// WebAuthnID implements webauthn.User.
func (o owner) WebAuthnID() []byte { return []byte(o.accountID) }

// WebAuthnName implements webauthn.User.
func (o owner) WebAuthnName() string { return o.accountID }

// WebAuthnDisplayName implements webauthn.User.
func (o owner) WebAuthnDisplayName() string { return o.accountID }

// WebAuthnCredentials implements webauthn.User. A passkey that cannot be decoded is left out.
func (o owner) WebAuthnCredentials() []webauthn.Credential {
	var all []webauthn.Credential
	for _, k := range o.keys.Keys {
		credentialID, err := base64.RawURLEncoding.DecodeString(k.CredentialID)
		publicKey, failed := base64.RawURLEncoding.DecodeString(k.PublicKey)
		if err != nil || failed != nil {
			continue
		}
		all = append(all, webauthn.Credential{
			ID: credentialID, PublicKey: publicKey, Flags: webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: k.BackupEligible},
			Authenticator: webauthn.Authenticator{SignCount: uint32(k.SignCount)}, //nolint:gosec // it was a uint32 when it was stored
		})
	}
	return all
}

// routePasskeys adds the requests of passkeys.js where there are passkeys.
func (h *Handler) routePasskeys() {
	if h.party == nil {
		return
	}
	h.route("GET "+edge.SignInPath+"/passkeys.js", h.script)
	h.route("POST "+edge.SignInPath+"/passkey/options", h.passkeyOptions)
	h.route("POST "+edge.SignInPath+"/passkey", h.usePasskey)
	h.route("POST /account/passkeys/options", h.newPasskeyOptions)
	h.route("POST /account/passkeys", h.addPasskey)
	h.route("POST /account/passkeys/remove", h.removePasskey)
}

// script answers GET /signin/passkeys.js.
func (h *Handler) script(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, err := w.Write(h.Pages.PasskeyScript())
	return err
}

// passkeyOptions answers POST /signin/passkey/options: a new challenge for any passkey of this service.
func (h *Handler) passkeyOptions(w http.ResponseWriter, r *http.Request) error {
	options, challenge, err := h.party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return fmt.Errorf("make the challenge of a passkey: %w", err)
	}
	if err := h.giveTicket(w, r, ticket{Purpose: forPasskey, Challenge: challenge}); err != nil {
		return err
	}
	return writeJSON(w, options)
}

// signed is the body of a request with the response of an authenticator.
type signed struct {
	ReturnTo   string          `json:"return_to"`
	Credential json.RawMessage `json:"credential"`
}

func readSigned(w http.ResponseWriter, r *http.Request) (signed, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return signed{}, fault.New(fault.UnsupportedMediaType, "The content type must be application/json.")
	}
	raw, err := body(w, r)
	if err != nil {
		return signed{}, err
	}
	var s signed
	if err := json.Unmarshal(raw, &s); err != nil || len(s.Credential) == 0 {
		return signed{}, fault.Invalid(fault.Violation{Param: "credential", Code: fault.Required, Message: "must be the response of an authenticator"})
	}
	return s, nil
}

// unknownPasskey is the one answer to every passkey that does not sign in, so that it does not say which exist.
func unknownPasskey(cause error) error {
	return fault.New(fault.InvalidAPIKey, "This passkey does not sign in here. Try another one, or sign in another way.").WithCause(cause)
}

// usePasskey answers POST /signin/passkey. Errors: invalid_api_key, rate_limit_exceeded, account_restricted.
func (h *Handler) usePasskey(w http.ResponseWriter, r *http.Request) error {
	if err := edge.ExchangeOf(r.Context()).CountAttempt("signin", attemptsPerMinute); err != nil {
		return err
	}
	sent, err := readSigned(w, r)
	if err != nil {
		return err
	}
	returnTo, err := returnPath(sent.ReturnTo)
	if err != nil {
		return err
	}
	started, err := h.takeTicket(w, r, forPasskey)
	if err != nil {
		return err
	}
	used, err := h.verifyPasskey(r, started, sent.Credential)
	if err != nil {
		return err
	}
	opened, err := h.Service.OpenPasskeySession(r.Context(), used, h.browser(r))
	if fault.Has(err, fault.ResourceNotFound) {
		return unknownPasskey(err)
	}
	if err != nil {
		return err
	}
	h.signedIn(r, opened)
	return writeJSON(w, map[string]string{"location": returnTo})
}

// verifyPasskey checks the signature of a passkey. Errors: invalid_api_key, and those of reading.
func (h *Handler) verifyPasskey(r *http.Request, started ticket, credential []byte) (command.UsedPasskey, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(credential)
	if err != nil {
		return command.UsedPasskey{}, unknownPasskey(err)
	}
	var reading error
	found := owner{}
	find := func(_, handle []byte) (webauthn.User, error) {
		if !id.Valid(id.Account, string(handle)) {
			return nil, errors.New("the passkey has another kind of handle")
		}
		found.accountID = string(handle)
		// The events decide who signs in. Somebody who can write rows could exchange the key in the read model.
		found.keys, reading = h.Service.Passkeys(r.Context(), found.accountID)
		return found, reading
	}
	valid, err := h.party.ValidateDiscoverableLogin(find, *started.Challenge, parsed)
	if reading != nil {
		return command.UsedPasskey{}, reading
	}
	if err != nil {
		return command.UsedPasskey{}, unknownPasskey(err)
	}
	used := command.UsedPasskey{
		AccountID: found.accountID, SignCount: int64(parsed.Response.AuthenticatorData.Counter), Proof: "passkey " + started.Challenge.Challenge,
	}
	name := base64.RawURLEncoding.EncodeToString(valid.ID)
	for _, k := range found.keys.Keys {
		if k.CredentialID == name {
			used.PasskeyID = k.ID
		}
	}
	return used, nil
}

// newPasskeyOptions answers POST /account/passkeys/options. Error: invalid_api_key.
func (h *Handler) newPasskeyOptions(w http.ResponseWriter, r *http.Request) error {
	caller, current, err := h.person(r)
	if err != nil {
		return err
	}
	o := owner{accountID: caller.AccountID}
	if o.keys, err = h.Read.Passkeys(r.Context(), caller.AccountID); err != nil {
		return err
	}
	// An authenticator that already has a passkey of this account is not asked for another one.
	known := webauthn.Credentials(o.WebAuthnCredentials()).CredentialDescriptors()
	options, challenge, err := h.party.BeginRegistration(o, webauthn.WithExclusions(known))
	if err != nil {
		return fmt.Errorf("make the challenge of a new passkey: %w", err)
	}
	if err := h.giveTicket(w, r, ticket{Purpose: forNewKey, Challenge: challenge, Session: current.ID}); err != nil {
		return err
	}
	return writeJSON(w, options)
}

// addPasskey answers POST /account/passkeys. Errors: invalid_api_key, validation_failed, resource_conflict.
func (h *Handler) addPasskey(w http.ResponseWriter, r *http.Request) error {
	caller, current, err := h.person(r)
	if err != nil {
		return err
	}
	sent, err := readSigned(w, r)
	if err != nil {
		return err
	}
	started, err := h.takeTicket(w, r, forNewKey)
	if err != nil {
		return err
	}
	if started.Session != current.ID {
		return fault.New(fault.InvalidAPIKey, "Another session started to add this passkey. Load the page again.")
	}
	refused := func(cause error) error {
		return fault.Invalid(fault.Violation{Param: "credential", Code: fault.Format, Message: "the browser sent a passkey that cannot be verified"}).WithCause(cause)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(sent.Credential)
	if err != nil {
		return refused(err)
	}
	made, err := h.party.CreateCredential(owner{accountID: caller.AccountID}, *started.Challenge, parsed)
	if err != nil {
		return refused(err)
	}
	err = h.Service.RegisterPasskey(r.Context(), caller, command.NewPasskey{
		CredentialID: base64.RawURLEncoding.EncodeToString(made.ID), PublicKey: base64.RawURLEncoding.EncodeToString(made.PublicKey),
		SignCount: int64(made.Authenticator.SignCount), BackupEligible: made.Flags.BackupEligible, Browser: h.browser(r).Name,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, map[string]string{"location": edge.SessionsPath + "?done=added"})
}

// removePasskey answers POST /account/passkeys/remove. Errors: invalid_api_key, resource_not_found.
func (h *Handler) removePasskey(w http.ResponseWriter, r *http.Request) error {
	caller, _, err := h.person(r)
	if err != nil {
		return err
	}
	fields, err := form(w, r)
	if err != nil {
		return err
	}
	if err := h.Service.RemovePasskey(r.Context(), caller, fields.Get("passkey")); err != nil {
		return err
	}
	return seeOther(w, edge.SessionsPath+"?done=removed")
}

// writeJSON answers a script of a page.
func writeJSON(w http.ResponseWriter, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("signin: encode a response: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	// A failed write cannot be reported: the status is sent already.
	_, _ = w.Write(raw)
	return nil
}
