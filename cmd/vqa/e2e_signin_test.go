package main_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/command"
)

// oneTimeLink runs vqa signin beside the running service and returns the path of its link.
func (s *service) oneTimeLink(t *testing.T) string {
	t.Helper()
	var link struct{ URL string }
	require.NoError(t, json.Unmarshal(s.tool(t, "signin", "--json"), &link))
	u, err := url.Parse(link.URL)
	require.NoError(t, err)
	require.NotEmpty(t, u.Query().Get("link"))
	return link.URL
}

// click clicks the element that a selector finds when the scripts of its page have run. It clicks just after the
// answer: a click may lead to another page.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.await(`document.readyState === "complete" && !!document.querySelector(` + quoted(selector) + `)`)
	b.eval(`(e => { e.focus(); setTimeout(() => e.click(), 10) })(document.querySelector(` + quoted(selector) + `))`)
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// TestSignInWithABrowser signs in like the operator with a link, adds a passkey with the authenticator of Chromium's
// DevTools, signs out and comes back with the passkey.
func TestSignInWithABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	s := ownServiceLater(t)
	_, port, _ := strings.Cut(s.addr, ":")
	origin := "http://localhost:" + port
	s.env = append(s.env, "VQA_PUBLIC_URL="+origin, "VQA_SIGNUP_GRANT_SECONDS=0")
	require.NoError(t, s.start())

	// A later flag replaces an earlier one: the browser must find localhost.
	b := visit(t, origin+"/account/sessions", "", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
		"--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	b.await(`location.pathname === "/signin" && document.readyState === "complete"`)
	b.picture("signin")
	link := s.oneTimeLink(t)
	require.True(t, strings.HasPrefix(link, origin+"/signin?link="), link)
	b.call("Page.navigate", map[string]any{"url": link + "&return_to=/account/sessions"})
	b.await(`document.querySelector("button.main")?.textContent === "Sign in as operator"`)
	b.picture("signin-link")
	b.click("button.main")
	b.await(`location.pathname === "/account/sessions" && document.body?.innerText.includes("(this browser)")`)
	require.Equal(t, "", b.eval("document.cookie"), "no script reads the cookie")

	b.call("WebAuthn.enable", nil)
	var device struct{ AuthenticatorID string }
	require.NoError(t, json.Unmarshal(b.call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true,
		"automaticPresenceSimulation": true,
	}}), &device))
	b.click("#add-passkey")
	b.await(`document.body?.innerText.includes("The passkey is added.")`)
	b.picture("account-sessions")
	b.click("#add-passkey")
	b.await(`document.getElementById("passkey-problem").textContent === "This device already has a passkey for your account."`)

	t.Run("calls the API from the page /live", func(*testing.T) {
		b.call("Page.navigate", map[string]any{"url": origin + "/live"})
		b.await(`document.getElementById("token-field")?.hidden && document.getElementById("account-id").textContent.startsWith("acct_")`)
		b.tab("question")
		b.typeText("How many people are there?")
		b.enter()
		// The account of the operator has no credits here. The page names the command that adds some.
		b.await(`document.getElementById("trouble").textContent.includes("vqa credits grant " + document.getElementById("account-id").textContent + " ")`)
		b.picture("live-account")
	})

	token := b.eval(`fetch("/session/token", {method: "POST"}).then(r => r.json()).then(t => t.token)`).(string)
	call := func(method, path, body string, into any) int {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.addr+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, errors.Join(json.NewDecoder(got.Body).Decode(into), got.Body.Close()))
		return got.StatusCode
	}
	listed := func() int { return call(http.MethodGet, "/v1/api-keys", "", new(any)) }
	require.Equal(t, http.StatusOK, listed())
	acct := command.OperatorAccount()
	s.tool(t, "credits", "grant", acct, "100", "--reason", "test", "--idempotency-key", "1")
	var live struct{ ID string }
	require.Equal(t, http.StatusCreated, call(http.MethodPost, "/v1/streams", `{"prompt": "Is there a dog?"}`, &live))
	b.call("Page.navigate", map[string]any{"url": origin + "/account/sessions"})
	b.click(`form[action="/signout"] button`)
	b.await(`location.pathname === "/signin" && document.readyState === "complete"`)
	require.Equal(t, http.StatusUnauthorized, listed(), "the token ends with its session")
	signedOut := time.Now()
	var shown struct {
		Streams []struct {
			State struct {
				EndedAt time.Time `json:"ended_at"`
			}
		}
	}
	require.Eventually(t, func() bool {
		return json.Unmarshal(s.tool(t, "show", live.ID, "--json"), &shown) == nil && !shown.Streams[0].State.EndedAt.IsZero()
	}, time.Minute, 100*time.Millisecond, "the stream ends with its session")
	require.Less(t, shown.Streams[0].State.EndedAt.Sub(signedOut), 2*time.Second)

	signIn := func() {
		b.call("Page.navigate", map[string]any{"url": origin + "/signin?return_to=/account/sessions"})
		b.await(`location.pathname === "/signin" && document.readyState === "complete" && !!document.getElementById("passkey")`)
		b.click("#passkey")
	}
	signIn()
	b.await(`location.pathname === "/account/sessions" && document.body?.innerText.includes("by passkey")`)

	t.Run("refuses a passkey whose counter did not grow", func(t *testing.T) {
		var held struct{ Credentials []map[string]any }
		require.NoError(t, json.Unmarshal(b.call("WebAuthn.getCredentials", map[string]any{"authenticatorId": device.AuthenticatorID}), &held))
		require.Len(t, held.Credentials, 1)
		copied := held.Credentials[0]
		copied["signCount"] = 0
		b.call("WebAuthn.removeCredential", map[string]any{"authenticatorId": device.AuthenticatorID, "credentialId": copied["credentialId"]})
		b.call("WebAuthn.addCredential", map[string]any{"authenticatorId": device.AuthenticatorID, "credential": copied})
		signIn()
		b.await(`document.getElementById("passkey-problem")?.textContent.includes("may have been copied")`)
		b.picture("signin-copy")
	})
	t.Run("refuses a passkey that was removed", func(*testing.T) {
		b.call("Page.navigate", map[string]any{"url": origin + "/account/sessions"})
		b.await(`!!document.querySelector('form[action="/account/passkeys/remove"] button')`)
		b.click(`form[action="/account/passkeys/remove"] button`)
		b.await(`document.body?.innerText.includes("The passkey is removed.")`)
		signIn()
		b.await(`document.getElementById("passkey-problem")?.textContent.includes("does not sign in here")`)
	})
	require.Empty(t, b.complaints)
	t.Run("ends when the operator revokes it", func(t *testing.T) {
		var sessions []struct {
			SessionID string `json:"session_id"`
			Method    string
		}
		require.NoError(t, json.Unmarshal(s.tool(t, "sessions", "list", "--json"), &sessions))
		require.Len(t, sessions, 1, "those that signed out are not listed")
		require.Equal(t, "passkey", sessions[0].Method)
		s.tool(t, "sessions", "revoke", sessions[0].SessionID)
		b.call("Page.navigate", map[string]any{"url": origin + "/account/sessions"})
		b.await(`location.pathname === "/signin" && document.readyState === "complete"`)
	})
	b.call("Page.navigate", map[string]any{"url": link})
	b.await(`!!document.querySelector("button.main")`)
	b.click("button.main")
	b.await(`document.body?.innerText.includes("This link is not valid")`)
	b.picture("signin-refused")
}
