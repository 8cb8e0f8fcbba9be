package oauth

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of RFC 7636, appendix B.
const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

const mcp = "https://video.example/mcp"

func is(t *testing.T, err error, code Code) {
	t.Helper()
	if code == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, &Error{Code: code})
}

func TestPKCE(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		challenge, method string
		code              Code
	}{
		{challenge, "S256", ""},
		{"", "S256", InvalidRequest},
		{challenge, "plain", InvalidRequest},
		{challenge, "", InvalidRequest},
		{challenge, "s256", InvalidRequest},
		{challenge + "=", "S256", InvalidRequest},
		{challenge[1:], "S256", InvalidRequest},
		{challenge[:42] + "N", "S256", InvalidRequest}, // bits that a strict decoder refuses
	} {
		is(t, CheckChallenge(tt.challenge, tt.method), tt.code)
	}
	for given, code := range map[string]Code{
		verifier: "", verifier + "x": InvalidGrant, verifier[:42]: InvalidGrant, strings.Repeat("x", 129): InvalidGrant, "": InvalidGrant,
		challenge:           InvalidGrant, // the downgrade to "plain"
		verifier[:42] + " ": InvalidGrant,
	} {
		is(t, CheckVerifier(challenge, given), code)
	}
}

func TestRedirectAddresses(t *testing.T) {
	t.Parallel()
	for address, code := range map[string]Code{
		"https://claude.ai/api/mcp/auth_callback": "", "https://vscode.dev/redirect?x=1": "", "http://localhost/callback": "", "http://127.0.0.1:33418": "",
		"http://[::1]:80/x": "", "cursor://anysphere.cursor-mcp/oauth/callback": "", "com.example.app:/oauth": "",
		"": InvalidRedirectURI, "/relative": InvalidRedirectURI, "https://": InvalidRedirectURI, "https:claude.ai": InvalidRedirectURI,
		"http://example.com/": InvalidRedirectURI, "http://localhost.evil.example/": InvalidRedirectURI, "http://sub.localhost/": InvalidRedirectURI,
		"http://127.0.0.2/": InvalidRedirectURI, "http://127.1/": InvalidRedirectURI, "http://0.0.0.0/": InvalidRedirectURI, "http://2130706433/": InvalidRedirectURI,
		"http://[::ffff:127.0.0.1]/": InvalidRedirectURI, "https://user@claude.ai/": InvalidRedirectURI, "https://claude.ai/#": InvalidRedirectURI,
		"https://claude.ai/#x": InvalidRedirectURI, `https://claude.ai\@evil.example/`: InvalidRedirectURI, "https://claude.ai/ x": InvalidRedirectURI,
		"https://claude.ai/\n": InvalidRedirectURI, "javascript:alert(1)": InvalidRedirectURI, "JavaScript:alert(1)": InvalidRedirectURI,
		"data:text/html,x": InvalidRedirectURI, "file:///etc/passwd": InvalidRedirectURI, "https://clаude.ai/": InvalidRedirectURI, // a Cyrillic letter
		"https://claude.ai/" + strings.Repeat("x", 2048): InvalidRedirectURI,
		"https://xn--e1afmkfd.example:8443/":             "", "https://[2001:db8::1]:8443/": "", "https://mcp_client.example/": "", "vscode://publisher.extension/cb": "",
		// The first has an escaped Cyrillic letter, the second an escape that reverses the text.
		"https://%D0%B0pple.com/": InvalidRedirectURI, "https://claude.ai%E2%80%AEmoc.evil/": InvalidRedirectURI, "https://claude.ai,evil.example/": InvalidRedirectURI,
		"https://claude.ai'.evil.example/": InvalidRedirectURI, "https://claude.ai<b>/": InvalidRedirectURI, "https://[::1%25eth0]/": InvalidRedirectURI,
		"https://claude.ai:/": InvalidRedirectURI, "https://.claude.ai/": InvalidRedirectURI, "https://claude..ai/": InvalidRedirectURI,
		"http://localhost:/callback": InvalidRedirectURI, "http://localhost:0/callback": InvalidRedirectURI, "http://localhost:08/callback": InvalidRedirectURI,
		"http://localhost:99999/callback": InvalidRedirectURI, "http://127.0.0.1:65536": InvalidRedirectURI, "http://[::1]:/x": InvalidRedirectURI, "http://[::1]:00080/x": InvalidRedirectURI,
		"http://127.0.0.1:18446744073709551617/": InvalidRedirectURI, "http://localhost:65535/callback": "", "http://localhost:1/callback": "",
		"https://claude.ai:0/": InvalidRedirectURI, "https://claude.ai:0443/": InvalidRedirectURI, "https://claude.ai:65536/": InvalidRedirectURI,
		"https://[2001:db8::1]:/": InvalidRedirectURI, "https://[2001:db8::1]:08443/": InvalidRedirectURI, "https://claude.ai:65535/": "",
		// A browser or the system opens these, and the page would show a program on the person's machine.
		"microsoft-edge:https://evil.example/": InvalidRedirectURI, "Googlechromes://evil.example/": InvalidRedirectURI, "x-safari-https://evil.example/": InvalidRedirectURI,
		"other:https://evil.example/": InvalidRedirectURI, "other:///https://evil.example/": InvalidRedirectURI, "ms-msdt:/id": InvalidRedirectURI,
		"search-ms:query=x": InvalidRedirectURI, "shell:startup": InvalidRedirectURI,
		// A page can register itself for these.
		"web+claude:callback": InvalidRedirectURI, "WEB+x://callback": InvalidRedirectURI, "ext+x:callback": InvalidRedirectURI, "matrix:r/x": InvalidRedirectURI,
	} {
		is(t, CheckRedirect(address), code)
	}
}

func TestRedirectsMatchExactly(t *testing.T) {
	t.Parallel()
	registered := []string{
		"https://claude.ai/api/mcp/auth_callback", "http://localhost/callback", "http://127.0.0.1:33418", "cursor://anysphere/cb", "http://[::1]/x?y=1",
	}
	for address, match := range map[string]bool{
		"https://claude.ai/api/mcp/auth_callback": true, "http://localhost:51234/callback": true, "http://localhost/callback": true, "http://127.0.0.1:5": true,
		"http://127.0.0.1": true, "cursor://anysphere/cb": true, "http://[::1]:99/x?y=1": true,
		"https://claude.ai/api/mcp/auth_callback/": false, "https://claude.ai/api/mcp/auth_callback?x=1": false, "https://claude.ai:443/api/mcp/auth_callback": false,
		"https://claude.ai:8443/api/mcp/auth_callback": false, "https://CLAUDE.ai/api/mcp/auth_callback": false, "https://claude.ai/api/mcp/../mcp/auth_callback": false,
		"https://claude.ai.evil.example/api/mcp/auth_callback": false, "https://evil.example/https://claude.ai/api/mcp/auth_callback": false,
		"https://claude.ai@evil.example/api/mcp/auth_callback": false, "http://localhost:51234/other": false, "http://localhost:51234/callback/": false,
		"http://127.0.0.1:51234/callback": false, "http://127.0.0.1/": false, "https://localhost:51234/callback": false, "cursor://anysphere:80/cb": false,
		"http://localhost:1@evil.example/callback": false, "http://localhost:51234/callback#x": false, "http://[::1]:99/x?y=2": false, "": false,
		"http://localhost:/callback": false, "http://localhost:0/callback": false, "http://localhost:08/callback": false, "http://localhost:99999/callback": false,
		"http://127.0.0.1:": false, "http://[::1]:065/x?y=1": false, "http://localhost:65535/callback": true,
	} {
		require.Equal(t, match, MatchRedirect(registered, address), address)
	}
	require.False(t, MatchRedirect(nil, "https://claude.ai/"))
	for _, old := range []string{"javascript:alert(1)", "http://localhost:99999/callback", "https://claude.ai:0443/x"} {
		require.False(t, MatchRedirect([]string{old}, old), "an old registration gives no right")
	}
	require.True(t, MatchRedirect([]string{"http://localhost:0/callback"}, "http://localhost:51234/callback"), "the port of a loopback address may differ")
}

// FuzzMatchRedirect checks that only the port of a loopback address may differ.
func FuzzMatchRedirect(f *testing.F) {
	for _, pair := range [][2]string{
		{"http://localhost/callback", "http://localhost:1/callback"}, {"http://127.0.0.1:1", "http://127.0.0.1"}, {"https://a.example/x", "https://a.example:1/x"},
		{"http://[::1]/x", "http://[::1]:/x"}, {"cursor://a", "cursor://a:1"}, {"http://localhost:1/x", "http://localhost:1@evil/x"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, registered, given string) {
		if !MatchRedirect([]string{registered}, given) || registered == given {
			return
		}
		r, err := url.Parse(registered)
		require.NoError(t, err)
		g, err := url.Parse(given)
		require.NoError(t, err)
		require.Equal(t, "http", g.Scheme)
		require.Contains(t, []string{"localhost", "127.0.0.1", "::1"}, g.Hostname())
		require.Equal(t, r.Hostname(), g.Hostname())
		r.Host, g.Host = "", ""
		require.Equal(t, r.String(), g.String())
		require.Nil(t, g.User)
	})
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	c, err := ReadRegistration([]byte(`{"client_name": " Claude Code ", "redirect_uris": ["http://localhost/callback"], "grant_types": ["authorization_code"],
		"token_endpoint_auth_method": "none", "client_id": "chosen by the client", "logo_uri": "https://evil.example/x.png", "application_type": "native"}`))
	require.NoError(t, err)
	require.Equal(t, Client{
		Name: "Claude Code", RedirectURIs: []string{"http://localhost/callback"}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, AuthMethod: "none", Scope: "mcp", ApplicationType: "native",
	}, c)
	for _, asked := range []string{"client_secret_post", "client_secret_basic", "private_key_jwt"} {
		c, err := ReadRegistration([]byte(`{"redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "` + asked + `"}`))
		require.NoError(t, err)
		require.Equal(t, "none", c.AuthMethod, "the response replaces it")
	}
	many := strings.TrimSuffix(strings.Repeat(`"https://a.example/",`, 11), ",")
	for body, code := range map[string]Code{
		`{"redirect_uris": ["cursor://x/y", "https://www.cursor.com/z", "http://localhost:8787/callback"]}`: "",
		`{`: InvalidClientMetadata, `[]`: InvalidClientMetadata, `{"redirect_uris": "https://a.example/"}`: InvalidClientMetadata,
		`{}`: InvalidRedirectURI, `{"redirect_uris": [` + many + `]}`: InvalidRedirectURI, `{"redirect_uris": ["https://a.example/", "javascript:1"]}`: InvalidRedirectURI,
		`{"redirect_uris": ["https://a.example/"], "redirect_uris": ["https://b.example/"]}`:           InvalidClientMetadata,
		`{"Redirect_URIs": ["https://a.example/"], "redirect_uris": ["https://a.example/"]}`:           InvalidClientMetadata,
		`{"redirect_uris": ["https://a.example/"], "grant_types": ["client_credentials"]}`:             InvalidClientMetadata,
		`{"redirect_uris": ["https://a.example/"], "response_types": ["token"]}`:                       InvalidClientMetadata,
		`{"redirect_uris": ["https://a.example/"], "application_type": "tv"}`:                          InvalidClientMetadata,
		`{"redirect_uris": ["https://a.example/"], "client_name": "` + strings.Repeat("x", 101) + `"}`: InvalidClientMetadata,
		`{"redirect_uris": ["https://a.example/"], "client_name": "Claude\u202e"}`:                     InvalidClientMetadata,
		`{"redirect_uris": ["https://a.example/"], "client_name": "a\nb"}`:                             InvalidClientMetadata,
	} {
		_, err := ReadRegistration([]byte(body))
		is(t, err, code)
	}
}

func TestMetadataDocuments(t *testing.T) {
	t.Parallel()
	const address = "https://claude.ai/oauth/claude-code-client-metadata"
	document := func(id, more string) []byte {
		return []byte(`{"client_id": "` + id + `", "redirect_uris": ["http://localhost/callback"]` + more + `}`)
	}
	named := `, "client_name": "Claude Code"`
	c, err := ReadDocument(address, document(address, named))
	require.NoError(t, err)
	require.Equal(t, address, c.ID)
	for _, tt := range []struct {
		address string
		body    []byte
		code    Code
	}{
		{address, document("https://evil.example/x", named), InvalidClientMetadata},
		{address, document(address+"/", named), InvalidClientMetadata},
		{address, document(address, ""), InvalidClientMetadata},
		{address, document(address, named+`, "client_secret": "x"`), InvalidClientMetadata},
		{address, document(address, named+`, "token_endpoint_auth_method": "private_key_jwt"`), InvalidClientMetadata},
		{address, document(address, named+`, "client_name": "Claude"`), InvalidClientMetadata},
		{address, document(address, named+`, "x": 1, "x": 2`), InvalidClientMetadata},
		{address, document(address, named+`, "Client_Name": "Claude"`), InvalidClientMetadata},
		{address, document(address, `, "CLIENT_NAME": "Claude"`), InvalidClientMetadata},
		{address, document(address, named+`, "client_name#ja-Jpan-JP": "Claude"`), ""},
		{address, document(address, named+`, "x": "`+strings.Repeat("x", MaxDocument)+`"`), InvalidClientMetadata},
		{"http://claude.ai/x", document("http://claude.ai/x", named), InvalidClientMetadata},
	} {
		_, err := ReadDocument(tt.address, tt.body)
		is(t, err, tt.code)
	}
	for _, bad := range []string{
		"https://claude.ai", "https://claude.ai/", "https://user@claude.ai/x", "https://claude.ai/x#y", "https://claude.ai/a/../b", "https://claude.ai/./b",
		"https://claude.ai//b", `https://claude.ai\x`, "https:///x", "client_1", "", "https://claude.ai/x y", "https://%D0%B0pple.com/x", "https://claude.ai%E2%80%AEmoc.evil/x", "https://claude.ai<b>/x",
		"https://claude.ai:/x", "https://claude.ai:0/x", "https://claude.ai:0443/x", "https://claude.ai:65536/x", "https://[2001:db8::1]:/x",
	} {
		is(t, CheckDocumentAddress(bad), InvalidClientMetadata)
	}
}

func TestAuthorizationRequests(t *testing.T) {
	t.Parallel()
	valid := func() url.Values {
		return url.Values{
			"client_id": {"c"}, "redirect_uri": {"http://localhost:1/callback"}, "response_type": {"code"}, "state": {"s t"}, "code_challenge": {challenge},
			"code_challenge_method": {"S256"}, "scope": {"mcp offline_access"}, "resource": {mcp},
		}
	}
	a, err := ReadAuthorization(valid(), mcp)
	require.NoError(t, err)
	require.Equal(t, Authorization{ClientID: "c", RedirectURI: "http://localhost:1/callback", State: "s t", Challenge: challenge, Resource: mcp}, a)
	for _, tt := range []struct {
		name  string
		value []string
		code  Code
	}{
		{"resource", nil, ""}, {"scope", nil, ""}, {"state", nil, ""}, {"unknown", []string{"a", "b"}, ""}, {"response_mode", []string{"query"}, ""},
		{"client_id", nil, InvalidRequest}, {"redirect_uri", nil, InvalidRequest}, {"client_id", []string{"c", "d"}, InvalidRequest},
		{"redirect_uri", []string{"http://localhost:1/callback", "https://evil.example"}, InvalidRequest}, {"response_type", nil, UnsupportedResponseType},
		{"response_type", []string{"token"}, UnsupportedResponseType}, {"response_mode", []string{"fragment"}, InvalidRequest},
		{"code_challenge", nil, InvalidRequest}, {"code_challenge_method", []string{"plain"}, InvalidRequest}, {"code_challenge", []string{challenge, "x"}, InvalidRequest},
		{"scope", []string{"mcp admin"}, InvalidScope}, {"resource", []string{"https://video.example/v1"}, InvalidTarget},
		{"resource", []string{mcp, "https://other.example"}, InvalidRequest}, {"state", []string{strings.Repeat("x", 2049)}, InvalidRequest},
	} {
		p := valid()
		p[tt.name] = tt.value
		_, err := ReadAuthorization(p, mcp)
		is(t, err, tt.code)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	for given, code := range map[string]Code{
		"": "", mcp: "", mcp + "/": "", "https://VIDEO.example:443/mcp": "",
		"http://video.example/mcp": InvalidTarget, "https://video.example": InvalidTarget, "https://video.example/mcp?x": InvalidTarget, mcp + "?": InvalidTarget, mcp + "#x": InvalidTarget,
		"https://video.example:8443/mcp": InvalidTarget, "https://video.example.evil/mcp": InvalidTarget, "https://x@video.example/mcp": InvalidTarget,
		"https://video.example/MCP": InvalidTarget, "https://video.example/%6dcp": InvalidTarget, "mcp": InvalidTarget,
	} {
		got, err := CheckResource(given, mcp)
		is(t, err, code)
		if code == "" {
			require.Equal(t, mcp, got)
		}
	}
}

func TestRedirectsCarryTheIssuer(t *testing.T) {
	t.Parallel()
	a := Authorization{RedirectURI: "http://localhost:1/callback?x=%2F", State: "s&t"}
	to, err := a.Redirect("the code", "https://video.example")
	require.NoError(t, err)
	require.Equal(t, "http://localhost:1/callback?x=%2F&code=the+code&iss=https%3A%2F%2Fvideo.example&state=s%26t", to)
	to, err = Authorization{RedirectURI: "cursor://anysphere/cb"}.RedirectError(&Error{InvalidScope, "No."}, "https://video.example")
	require.NoError(t, err)
	require.Equal(t, "cursor://anysphere/cb?error=invalid_scope&error_description=No.&iss=https%3A%2F%2Fvideo.example", to)
}

func TestDiscoveryDocuments(t *testing.T) {
	t.Parallel()
	var server map[string]any
	raw, err := json.Marshal(ServerMetadata("https://video.example"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &server))
	require.Equal(t, "https://video.example", server["issuer"])
	require.Equal(t, []any{"S256"}, server["code_challenge_methods_supported"])
	require.Equal(t, true, server["authorization_response_iss_parameter_supported"])
	require.Equal(t, true, server["client_id_metadata_document_supported"])
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"} {
		require.True(t, strings.HasPrefix(server[name].(string), "https://video.example/"), name)
	}
	resource := ResourceMetadata("https://video.example", "/mcp")
	require.Equal(t, mcp, resource.Resource)
	require.Equal(t, []string{server["issuer"].(string)}, resource.AuthorizationServers)
	want := `resource_metadata="https://video.example/.well-known/oauth-protected-resource/mcp", scope="mcp"`
	require.Equal(t, "Bearer "+want, Challenge("Bearer", "https://video.example", "/mcp"))
	require.Equal(t, `Bearer error="invalid_token", `+want, Challenge(`Bearer error="invalid_token"`, "https://video.example", "/mcp"))
}
