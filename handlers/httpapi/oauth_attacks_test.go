package httpapi_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
)

// attack is one attempt against the authorization of agents.
type attack struct {
	name string
	// defense says what stops it.
	defense string
	// try attacks and returns what the attacker got: a status with an error code.
	try func(*testing.T, authorizing) string
}

// refusedPage describes a page that has no form and does not redirect.
func refusedPage(t *testing.T, got response) string {
	t.Helper()
	require.NotContains(t, string(got.raw), `name="ticket"`)
	require.Empty(t, got.Header.Get("Location"), "an error never redirects")
	return refusal(got)
}

// attacks are tried on a service of their own each. The document has them in this order.
var attacks = []attack{
	{"Redirect to another host of an attacker", "the address equals a registered one in each byte", func(t *testing.T, w authorizing) string {
		return refusedPage(t, w.register().ask(w.signedIn(w.issuer, "ada"), "redirect_uri", "https://evil.example/callback"))
	}},
	{"Redirect to another path, user or fragment of a loopback address", "only the port of a loopback address may differ", func(t *testing.T, w authorizing) string {
		a, last := w.register(), ""
		for _, redirect := range []string{
			"http://127.0.0.1:9/callback/../other", "http://127.0.0.1:9/callback?x", "http://evil@127.0.0.1:9/callback", "http://127.0.0.1:9/callback#x",
			"http://localhost:9/callback", "http://127.0.0.1:9@evil.example/callback", `http://127.0.0.1:9\@evil.example/callback`, "javascript:alert(1)",
		} {
			last = refusedPage(t, a.ask(w.signedIn(w.issuer, "ada"), "redirect_uri", redirect))
		}
		return last
	}},
	{"Register an address that runs a script", "a list of refused schemes; http only for loopback", func(t *testing.T, w authorizing) string {
		require.Equal(t, "400 `invalid_redirect_uri`", refusal(w.registers(`{"redirect_uris": ["http://evil.example/x"]}`)))
		return refusal(w.registers(`{"redirect_uris": ["javascript:alert(1)"]}`))
	}},
	{"Use an open redirect: an error for a stranger", "errors are pages; nothing redirects before a decision", func(t *testing.T, w authorizing) string {
		a := w.register()
		got := a.ask(w.signedIn(w.issuer, "ada"), "response_type", "token")
		require.Contains(t, string(got.raw), "Return to the program")
		return refusedPage(t, got)
	}},
	{"Replay a code", "the second exchange revokes the permission and its tokens", func(t *testing.T, w authorizing) string {
		a := w.register()
		code := a.allowed(w.signedIn(w.issuer, "ada"))
		first := a.redeem(code)
		require.Equal(t, http.StatusOK, first.StatusCode)
		got := refusal(a.redeem(code))
		require.Equal(t, http.StatusUnauthorized, w.lists(first.at("access_token").(string)))
		return got
	}},
	{"Exchange a code after a minute", "codes last 60 s by the clock of the database", func(_ *testing.T, w authorizing) string {
		a := w.register()
		code := a.allowed(w.signedIn(w.issuer, "ada"))
		w.advance(grant.CodeLife)
		return refusal(a.redeem(code))
	}},
	{"Exchange the code of another client", "a code belongs to one client, and stays valid for it", func(t *testing.T, w authorizing) string {
		a, eve := w.register(), w.register()
		code := a.allowed(w.signedIn(w.issuer, "ada"))
		got := refusal(eve.redeem(code))
		require.Equal(t, http.StatusOK, a.redeem(code).StatusCode)
		return got
	}},
	{"Exchange a code with another redirect address", "the address must be that of the request", func(_ *testing.T, w authorizing) string {
		a := w.register()
		return refusal(a.redeem(a.allowed(w.signedIn(w.issuer, "ada")), "redirect_uri", "http://127.0.0.1:10/callback"))
	}},
	{"Ask without PKCE, or with the method plain", "S256 is required", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		refusedPage(t, a.ask(ada, "code_challenge", "-"))
		refusedPage(t, a.ask(ada, "code_challenge_method", "-"))
		return refusedPage(t, a.ask(ada, "code_challenge_method", "plain"))
	}},
	{"Exchange a stolen code without its verifier, or with another", "the verifier is checked before the code is used", func(t *testing.T, w authorizing) string {
		a := w.register()
		code := a.allowed(w.signedIn(w.issuer, "ada"))
		require.Equal(t, "400 `invalid_grant`", refusal(a.redeem(code, "code_verifier", "-")))
		require.Equal(t, "400 `invalid_grant`", refusal(a.redeem(code, "code_verifier", a.challenge)))
		got := refusal(a.redeem(code, "code_verifier", strings.Repeat("x", 43)))
		require.Equal(t, http.StatusOK, a.redeem(code).StatusCode, "the code still works for its client")
		return got
	}},
	{"Ask for a token of another resource", "a token is bound to `/mcp`", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		refusedPage(t, a.ask(ada, "resource", "https://other.example/mcp"))
		return refusal(a.redeem(a.allowed(ada), "resource", "https://other.example/mcp"))
	}},
	{"Use a token at the API, or the token of another service", "access tokens work at `/mcp` only; its resource must be this one", func(t *testing.T, w authorizing) string {
		a := w.register()
		access, _ := a.tokens(w.signedIn(w.issuer, "ada"))
		require.Equal(t, http.StatusUnauthorized, w.lists("eyJhbGciOiJub25lIn0.e30.x"))
		require.Equal(t, "401 `invalid_api_key`", refusal(w.send(http.MethodGet, "/v1/api-keys", "", "Authorization", "Bearer "+access)))
		return refusal(w.send(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer "+access))
	}},
	{"Mix up two authorization servers", "each redirect names its issuer (`iss`), also with an error", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		got := a.redirected(w.answers(ada, consentForm(t, a.ask(ada), "decision", "deny"))) // compares iss
		return "303 `" + got.Get("error") + "`"
	}},
	{"Reuse a refresh token after the grace of 60 s", "the permission is revoked, for thief and client", func(t *testing.T, w authorizing) string {
		a := w.register()
		_, first := a.tokens(w.signedIn(w.issuer, "ada"))
		second := a.refreshes(first)
		require.Equal(t, http.StatusOK, a.refreshes(first).StatusCode, "parallel sessions share a token")
		w.advance(grant.RotationGrace + time.Second)
		got := refusal(a.refreshes(first))
		require.Equal(t, "400 `invalid_grant`", refusal(a.refreshes(second.at("refresh_token").(string))))
		return got
	}},
	{"Refresh with the token of another client", "a refresh token belongs to one client", func(_ *testing.T, w authorizing) string {
		_, refresh := w.register().tokens(w.signedIn(w.issuer, "ada"))
		return refusal(w.register().refreshes(refresh))
	}},
	{"Guess a refresh token to revoke a permission", "text without the shared part of the tokens changes nothing", func(t *testing.T, w authorizing) string {
		a := w.register()
		access, refresh := a.tokens(w.signedIn(w.issuer, "ada"))
		got := refusal(a.refreshes(refresh[:6+26] + strings.Repeat("A", 65)))
		require.Equal(t, http.StatusOK, w.lists(access))
		return got
	}},
	{"Flood the service with registrations", "20 a minute and 20 unused clients for an address; they expire after a day", func(_ *testing.T, w authorizing) string {
		got := ""
		for range 21 {
			got = refusal(w.registers(`{"redirect_uris": ["https://agent.example/x"]}`))
		}
		return got
	}},
	{"Register a client with a secret or another flow", "clients are public and use the code flow", func(t *testing.T, w authorizing) string {
		a := w.register()
		require.Equal(t, "401 `invalid_client`", refusal(a.redeem("svcac_x", "client_secret", "x")))
		return refusal(w.registers(`{"redirect_uris": ["https://a.example/"], "grant_types": ["client_credentials"]}`))
	}},
	{"Frame the consent page (clickjacking)", "`frame-ancestors 'none'` and `X-Frame-Options: DENY`", func(t *testing.T, w authorizing) string {
		h := w.register().ask(w.signedIn(w.issuer, "ada")).Header
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.NotContains(t, h.Get("Content-Security-Policy"), "form-action", "it would block the redirect")
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		return "`X-Frame-Options: " + h.Get("X-Frame-Options") + "`"
	}},
	{"Send the form of the consent page from another site", "the origin of the form is checked; a cookie alone is not enough", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		form := consentForm(t, a.ask(ada))
		require.Equal(t, "403 `insufficient_scope`", refusal(w.answers(ada, form, "Sec-Fetch-Site", "", "Origin", "https://evil.example")))
		return refusal(w.answers(ada, form, "Sec-Fetch-Site", "cross-site"))
	}},
	{"Approve with a form of another session, person or request", "a ticket binds the form to session, person and each parameter", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		form := consentForm(t, a.ask(ada))
		require.Equal(t, "403 `insufficient_scope`", refusal(w.answers(w.signedIn(w.issuer, "eve"), form)))
		for _, parameter := range []string{"state", "grant_id", "issued_at", "ticket"} {
			changed := consentForm(t, a.ask(ada), parameter, "1")
			require.Equal(t, "403 `insufficient_scope`", refusal(w.answers(ada, changed)), parameter)
		}
		return refusal(w.answers(ada, change(form, []string{"redirect_uri", "http://127.0.0.1:10/callback"})))
	}},
	{"Confuse the deputy: rely on an earlier consent", "a person decides each time, on a page with one use", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		a.allowed(ada)
		page := a.ask(ada, "prompt", "none")
		form := consentForm(t, page) // a page again, and no redirect
		a.redirected(w.answers(ada, form))
		return refusedPage(t, w.answers(ada, form))
	}},
	{"Grow the scope, when asking or refreshing", "the only scope is `mcp`", func(t *testing.T, w authorizing) string {
		a, ada := w.register(), w.signedIn(w.issuer, "ada")
		refusedPage(t, a.ask(ada, "scope", "mcp admin"))
		_, refresh := a.tokens(ada)
		return refusal(a.refreshes(refresh, "scope", "mcp keys:write"))
	}},
	{"Reach live videos with a permission for test mode", "the mode of a token is fixed; ids of the other mode are unknown", func(t *testing.T, w authorizing) string {
		access, _ := w.register().tokens(w.signedIn(w.issuer, "ada"), "mode", "test")
		key, err := w.service.IssueKey(t.Context(), command.NewKey{
			AccountID: account.OwnedID(w.issuer.name, "ada"), Mode: account.Live, Tier: account.Paid, GrantSeconds: 100, Operator: "test",
		})
		require.NoError(t, err)
		videoID := (&client{w.world, key}).ready()
		agent := (&client{w.world, command.IssuedKey{Secret: access}}).agent()
		agent.fails(fault.TestKeyFixtureOnly, "create_analysis", map[string]any{"video_id": videoID, "prompt": "Is there a dog?"})
		return fmt.Sprintf("`%v`", agent.fails(fault.ResourceNotFound, "get_video", map[string]any{"video_id": videoID}).at("error.code"))
	}},
	{"Make the service fetch an inner address by a metadata document", "the guarded client: https, public hosts, no redirect, 5 KiB, 5 s", func(t *testing.T, w authorizing) string {
		ada, last := w.signedIn(w.issuer, "ada"), ""
		for _, address := range []string{
			"https://169.254.169.254/latest", "https://127.0.0.1/x", "https://localhost/x", "https://[::1]/x", "https://2130706433/x", "http://example.com/x",
			"https://10.0.0.1:8443/x",
		} {
			last = refusedPage(t, w.app(address).ask(ada))
		}
		return last
	}},
	{"Redirect, inflate or swap a metadata document", "redirects are not followed; the document names its own address", func(t *testing.T, w authorizing) string {
		ada, a := w.signedIn(w.issuer, "ada"), w.app(w.publisher.URL+"/agent.json")
		w.publisher.says(func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://127.0.0.1/x", http.StatusFound)
		})
		refusedPage(t, a.ask(ada))
		w.publisher.says(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write(make([]byte, 1<<20))
		})
		refusedPage(t, a.ask(ada))
		w.publisher.says(func(rw http.ResponseWriter, _ *http.Request) { // a file that a user of the host uploaded
			rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = fmt.Fprintf(rw, `{"client_id": "%s/agent.json", "client_name": "Claude", "redirect_uris": ["http://127.0.0.1/callback"]}`, w.publisher.URL)
		})
		refusedPage(t, a.ask(ada))
		w.publisher.says(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = rw.Write([]byte(`{"client_id": "https://claude.ai/x", "client_name": "Claude", "redirect_uris": ["http://127.0.0.1/callback"]}`))
		})
		return refusedPage(t, a.ask(ada))
	}},
	{"Hide a name, or pass for another program", "names are printable and shown as unverified; the host is shown", func(t *testing.T, w authorizing) string {
		got := w.registers(`{"client_name": "<b>Claude</b>", "redirect_uris": ["http://127.0.0.1/callback"]}`)
		text := string(w.app(got.at("client_id").(string)).ask(w.signedIn(w.issuer, "ada")).raw)
		require.Contains(t, text, "&lt;b&gt;Claude&lt;/b&gt;")
		require.Contains(t, text, "unverified")
		return refusal(w.registers(`{"client_name": "Claude\u202e", "redirect_uris": ["http://127.0.0.1/callback"]}`))
	}},
}

const attacksDocument = "../../docs/security.md"

// TestAttacksOnAuthorization tries each attack, and compares the results with the table in docs/security.md, which
// -update writes.
func TestAttacksOnAuthorization(t *testing.T) {
	t.Parallel()
	results := make([]string, len(attacks))
	t.Run("each", func(t *testing.T) {
		for i, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				results[i] = a.try(t, openAuthorizing(t))
				require.NotContains(t, results[i], "200")
			})
		}
	})
	var table strings.Builder
	table.WriteString("| Attack | What stops it | Result |\n|---|---|---|\n")
	for i, a := range attacks {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", a.name, a.defense, results[i])
	}
	const begin, end = "<!-- attacks on authorization: written by TestAttacksOnAuthorization -update -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(attacksDocument)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	committed, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(attacksDocument, []byte(before+begin+table.String()+end+after), 0o644))
		return
	}
	require.Empty(t, diff.Diff(committed, table.String()), "a result changed: if this is intended, run the test with -update")
}
