package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

const (
	// ticketCookie binds a sign-in to the browser that started it.
	ticketCookie = "vqa_signin"
	// ticketLife is how long a person has for a sign-in at a provider or with a passkey.
	ticketLife = 10 * time.Minute
)

// purpose is what a ticket is for. A ticket is refused elsewhere.
type purpose string

const (
	forProvider purpose = "provider"
	forPasskey  purpose = "passkey"
	forNewKey   purpose = "new passkey"
)

// ticket is the state of a sign-in that has started. The browser keeps it in a cookie, encrypted, so that no node
// has to remember it and no other browser can finish it.
type ticket struct {
	Purpose  purpose `json:"purpose"`
	ReturnTo string  `json:"return_to,omitempty"`
	// State, Nonce and Verifier are of a sign-in at a provider.
	State    string `json:"state,omitempty"`
	Nonce    string `json:"nonce,omitempty"`
	Verifier string `json:"verifier,omitempty"`
	// Challenge is of a passkey. Session is the session that registers one.
	Challenge *webauthn.SessionData `json:"challenge,omitempty"`
	Session   string                `json:"session,omitempty"`
	ExpiresAt time.Time             `json:"expires_at"`
}

// sealer encrypts tickets with a key that all nodes share.
type sealer struct {
	aead    cipher.AEAD
	entropy io.Reader
}

func newSealer(key []byte, entropy io.Reader) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, fmt.Errorf("signin: the key of tickets: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return sealer{aead, entropy}, err
}

func (s sealer) seal(t ticket) (string, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("signin: encode a ticket: %w", err)
	}
	nonce := make([]byte, s.aead.NonceSize())
	if _, err := io.ReadFull(s.entropy, nonce); err != nil {
		return "", fmt.Errorf("signin: read entropy for a ticket: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, plain, []byte(ticketCookie))), nil
}

func (s sealer) open(sealed string) (ticket, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(raw) < s.aead.NonceSize() {
		return ticket{}, errors.New("the ticket has another form")
	}
	plain, err := s.aead.Open(nil, raw[:s.aead.NonceSize()], raw[s.aead.NonceSize():], []byte(ticketCookie))
	if err != nil {
		return ticket{}, err
	}
	var t ticket
	return t, json.Unmarshal(plain, &t)
}

// giveTicket stores a ticket in the browser.
func (h *Handler) giveTicket(w http.ResponseWriter, r *http.Request, t ticket) error {
	t.ExpiresAt = h.Service.Now().Add(ticketLife)
	sealed, err := h.tickets.seal(t)
	if err != nil {
		return err
	}
	http.SetCookie(w, edge.ExchangeOf(r.Context()).Cookie(ticketCookie, sealed, ticketLife))
	return nil
}

// takeTicket returns the ticket of the browser and removes it there. Error: invalid_api_key for a browser that did
// not start this sign-in, or too long ago.
func (h *Handler) takeTicket(w http.ResponseWriter, r *http.Request, wanted purpose) (ticket, error) {
	x := edge.ExchangeOf(r.Context())
	refused := func(cause error) (ticket, error) {
		return ticket{}, fault.New(fault.InvalidAPIKey, "This browser did not start this sign-in, or it took more than ten minutes. Start again.").WithCause(cause)
	}
	sealed := x.CookieValue(ticketCookie)
	if sealed == "" {
		return refused(errors.New("no ticket"))
	}
	http.SetCookie(w, x.Cookie(ticketCookie, "", 0))
	t, err := h.tickets.open(sealed)
	if err != nil {
		return refused(err)
	}
	if t.Purpose != wanted || !h.Service.Now().Before(t.ExpiresAt) {
		return refused(fmt.Errorf("a ticket for a %s of %s", t.Purpose, t.ExpiresAt))
	}
	return t, nil
}
