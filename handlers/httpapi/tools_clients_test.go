package httpapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

// agentKit has the clients and the conformance suites, with their packages.
const agentKit = "../mcp/clients"

// installed skips a test whose packages make test-setup could not install.
func installed(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("make test-setup could not install %s", path)
	}
	absolute, err := filepath.Abs(path)
	require.NoError(t, err)
	return absolute
}

// sdks are the clients of other languages, as commands of the kit.
var sdks = map[string][]string{
	"TypeScript 1": {"node", "agent.js", "1"},
	"TypeScript 2": {"node", "agent.js", "2"},
	"Python":       {"../../../.cache/agents/bin/python", "agent.py"},
	inspector:      {kitNode, "inspector.js"},
}

const (
	// inspector is the command line of the MCP inspector. It shows no progress.
	inspector = "inspector"
	// kitNode is the Node of the kit, for programs that need a newer one than make setup asks for.
	kitNode = "node of the kit"
)

// nodeOfKit returns the path of the Node of the kit.
func nodeOfKit(t *testing.T) string {
	t.Helper()
	processor := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return installed(t, agentKit+"/node_modules/node-linux-"+processor+"/bin/node")
}

// otherSDK returns a client that talks to the tools of a service.
func otherSDK(t *testing.T, w *world, name string, environment ...string) *exec.Cmd {
	t.Helper()
	command := slices.Clone(sdks[name])
	switch command[0] {
	case "node":
		installed(t, agentKit+"/node_modules")
	case kitNode:
		command[0] = nodeOfKit(t)
	default:
		command[0] = installed(t, filepath.Join(agentKit, command[0]))
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], w.url+edge.ToolsPath)...)
	cmd.Dir, cmd.Env = agentKit, append(os.Environ(), environment...)
	return cmd
}

// requireConversation checks the steps that a client printed, one line of JSON each.
func requireConversation(t *testing.T, name string, lines []string) {
	t.Helper()
	var steps []response
	for _, line := range lines {
		step := response{raw: []byte(line)}
		require.NoError(t, json.Unmarshal(step.raw, &step.json), line)
		steps = append(steps, step)
	}
	if name != inspector {
		require.Len(t, steps, 7, lines)
		require.NotZero(t, steps[5].at("progress"))
		steps = slices.Delete(steps, 5, 6)
	}
	require.Len(t, steps, 6, lines)
	require.Len(t, steps[0].at("tools"), 14)
	require.Equal(t, true, steps[2].at("result.assessable"))
	require.Equal(t, "completed", steps[4].at("result.analysis.status"))
	require.Equal(t, steps[1].at("result.expected_answer"), steps[4].at("result.analysis.answer"))
	require.Equal(t, true, steps[5].at("isError"))
	require.Equal(t, "resource_not_found", steps[5].at("result.error.code"))
}

// TestTheShownInspectorHasItsNode: the command of the document fetches a Node that is new enough for the inspector.
func TestTheShownInspectorHasItsNode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/agents.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("`npx -y -p node@(\\d+) -p @modelcontextprotocol/inspector@(\\S+) mcp-inspector --cli ").FindSubmatch(text)
	require.NotNil(t, shown)
	raw, err := os.ReadFile(installed(t, agentKit+"/node_modules/@modelcontextprotocol/inspector/package.json"))
	require.NoError(t, err)
	var inspector struct {
		Version string
		Engines struct{ Node string }
	}
	require.NoError(t, json.Unmarshal(raw, &inspector))
	require.Equal(t, inspector.Version, string(shown[2]))
	require.Contains(t, inspector.Engines.Node, ">="+string(shown[1])+".")
}

// TestToolsWorkWithOtherSDKs runs the same conversation with the clients of other languages and the inspector.
func TestToolsWorkWithOtherSDKs(t *testing.T) {
	t.Parallel()
	for name := range sdks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, withTools)
			cmd := otherSDK(t, w, name, "VQA_API_KEY="+w.tester().key.Secret)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			require.NoError(t, err, stderr.String())
			requireConversation(t, name, slices.Collect(strings.Lines(string(out))))
		})
	}
}

// TestOtherSDKsAreAuthorized runs the conversation without a key: the clients discover the authorization server,
// register or show their metadata document, and the test plays the person who allows them.
func TestOtherSDKsAreAuthorized(t *testing.T) {
	t.Parallel()
	for name := range sdks {
		for _, how := range []string{"registration", "metadata document"} {
			t.Run(name+" by "+how, func(t *testing.T) {
				t.Parallel()
				w := openAuthorizing(t)
				document := ""
				if how != "registration" {
					document = w.publisher.URL + "/agent.json"
				}
				cmd := otherSDK(t, w.world, name, "VQA_API_KEY=", "VQA_CLIENT_DOCUMENT="+document)
				var stderr strings.Builder
				cmd.Stderr = &stderr
				in, err := cmd.StdinPipe()
				require.NoError(t, err)
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				var lines []string
				for scanner := bufio.NewScanner(out); scanner.Scan(); {
					line := scanner.Text()
					var asked struct{ Authorize string }
					if json.Unmarshal([]byte(line), &asked) == nil && asked.Authorize != "" {
						address, err := url.Parse(asked.Authorize)
						require.NoError(t, err)
						require.Equal(t, how != "registration", address.Query().Get("client_id") == document, asked.Authorize)
						_, err = io.WriteString(in, w.consents(w.signedIn(w.issuer, "ada"), asked.Authorize)+"\n")
						require.NoError(t, err)
						continue
					}
					lines = append(lines, line)
				}
				require.NoError(t, cmd.Wait(), stderr.String())
				requireConversation(t, name, lines)
			})
		}
	}
}

// scenarios of the conformance suites that need no tools of the suite's example server. The others need
// tools, resources or prompts of fixed names, which this service does not have.
var scenarios = []struct {
	suite string
	flags []string
	names []string
}{
	{"conformance-2025", []string{"--suite", "active"}, []string{
		"server-initialize", "logging-set-level", "ping", "tools-list", "server-sse-multiple-streams", "resources-list", "prompts-list", "dns-rebinding-protection",
	}},
	{"conformance-2026", []string{"--spec-version", "2025-11-25"}, []string{
		"server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "tools-list", "server-sse-multiple-streams", "resources-list", "prompts-list",
		"dns-rebinding-protection",
	}},
	{"conformance-2026", []string{"--requirements", "2026-07-28"}, []string{
		"tools-list", "server-sse-multiple-streams", "resources-list", "sep-2164-resource-not-found", "prompts-list", "dns-rebinding-protection", "caching",
		"http-header-validation", "input-required-result-missing-input-response", "input-required-result-unsupported-methods",
		"input-required-result-ignore-extra-params", "input-required-result-validate-input",
	}},
}

// TestToolsConform runs the conformance suites of the protocol, which send no key.
func TestToolsConform(t *testing.T) {
	t.Parallel()
	node := nodeOfKit(t)
	w := open(t, withTools)
	c := w.tester()
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+c.key.Secret)
		w.handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	passed := regexp.MustCompile(`(?m)^✓ ([\w-]+): \d+ passed, 0 failed`)
	for _, s := range scenarios {
		cmd := exec.CommandContext(t.Context(), node, append([]string{"node_modules/" + s.suite + "/dist/index.js", "server", "--url", front.URL + edge.ToolsPath}, s.flags...)...)
		cmd.Dir = agentKit
		out, _ := cmd.CombinedOutput() // it fails because of the other scenarios
		var got []string
		for _, m := range passed.FindAllStringSubmatch(string(out), -1) {
			got = append(got, m[1])
		}
		for _, name := range s.names {
			require.Contains(t, got, name, "%s %v\n%s", s.suite, s.flags, out)
		}
	}
}

// needSessions are the scenarios for 2025-11-25 in which the server asks the client. That needs sessions, which the
// endpoint does not keep, so that any node answers any message.
var needSessions = []string{"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"}

// TestSuiteToolsConform runs the scenarios that need tools of the suite. The example server of the Go SDK has these tools
// and the transport of this service. It stands behind the authentication of the edge, with a token that a person allowed.
func TestSuiteToolsConform(t *testing.T) {
	t.Parallel()
	node := nodeOfKit(t)
	program := filepath.Join(t.TempDir(), "everything")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput()
	require.NoError(t, err, string(built))
	address := "127.0.0.1:" + freePort(t)
	example := exec.CommandContext(t.Context(), program, "-http", address)
	require.NoError(t, example.Start())
	t.Cleanup(func() { _ = example.Process.Kill(); _ = example.Wait() })
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond)
	w := openAuthorizing(t, func(o *httpapi.Options) {
		o.Tools = func(e *edge.Edge) http.Handler {
			behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
			// A POST on a connection that the other side is closing cannot be repeated.
			behind.FlushInterval, behind.Transport = -1, &http.Transport{DisableKeepAlives: true}
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				signed, err := e.SignIn(r)
				if err != nil {
					edge.WriteError(rw, r, err)
					return
				}
				signed.Header.Del("Authorization") // a token is never passed on
				behind.ServeHTTP(rw, signed)
			})
		}
	})
	access, _ := w.register().tokens(w.signedIn(w.issuer, "ada"))
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+access)
		w.handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	results := regexp.MustCompile(`(?m)^([✓✗]) ([\w-]+): \d+ passed, \d+ failed`)
	for _, s := range []struct {
		suite  string
		flags  []string
		exempt []string
		least  int
	}{
		{"conformance-2025", []string{"--suite", "active"}, needSessions, 25},
		{"conformance-2026", []string{"--requirements", "2026-07-28"}, nil, 37},
	} {
		var out string
		passed := 0
		conforms := func() bool {
			cmd := exec.CommandContext(t.Context(), node, append([]string{"node_modules/" + s.suite + "/dist/index.js", "server", "--url", front.URL + edge.ToolsPath}, s.flags...)...)
			cmd.Dir = agentKit
			text, err := cmd.CombinedOutput()
			out, passed = string(text), 0
			wrong := s.exempt == nil && err != nil // scenarios of extensions fail, and do not count
			for _, m := range results.FindAllStringSubmatch(out, -1) {
				if m[1] == "✓" {
					passed++
				} else if s.exempt != nil && !slices.Contains(s.exempt, m[2]) {
					wrong = true
				}
			}
			return !wrong && passed >= s.least
		}
		// Scenarios wait a fixed time for notifications of the example, which is too short on a busy machine.
		conform := conforms()
		if !conform {
			conform = conforms()
		}
		require.True(t, conform, "%s: %d scenarios passed\n%s", s.suite, passed, out)
		t.Log(s.suite, passed, "scenarios passed")
	}
}

// consents plays a person: it opens an address of the authorization page, allows it in test mode, and returns the
// redirect to the client.
func (w authorizing) consents(p person, address string) string {
	w.t.Helper()
	page := w.send(http.MethodGet, strings.TrimPrefix(address, w.url), "", "Cookie", p.cookie)
	got := w.answers(p, consentForm(w.t, page, "mode", "test"))
	require.Equal(w.t, http.StatusSeeOther, got.StatusCode, string(got.raw))
	return got.Header.Get("Location")
}

// TestAuthorizationConforms runs the scenarios of the conformance suite for authorization servers. The test plays the
// person.
func TestAuthorizationConforms(t *testing.T) {
	t.Parallel()
	node := nodeOfKit(t)
	w := openAuthorizing(t)
	port := freePort(t)
	registered := w.registers(`{"redirect_uris": ["http://127.0.0.1:` + port + `/callback"]}`)
	require.Equal(t, http.StatusCreated, registered.StatusCode, string(registered.raw))
	cmd := exec.CommandContext(t.Context(), node, "node_modules/conformance-2026/dist/index.js", "authorization", "--url", w.url, "--port", port,
		"--client-id", registered.at("client_id").(string), "--resource", w.url+edge.ToolsPath)
	cmd.Dir = agentKit
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	var text strings.Builder
	address := regexp.MustCompile(regexp.QuoteMeta(w.url) + `/authorize\?\S+`)
	asked := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if found := address.FindString(lines.Text()); found != "" && !asked {
			asked = true
			got, err := http.Get(w.consents(w.signedIn(w.issuer, "ada"), found))
			require.NoError(t, err)
			require.NoError(t, got.Body.Close())
		}
	}
	require.NoError(t, cmd.Wait(), text.String())
	for _, name := range []string{"authorization-server-metadata-endpoint", "authorization-code-grant"} {
		require.Regexp(t, `(?m)^✓ `+name+`: \d+ passed, 0 failed`, text.String())
	}
}

// freePort returns a port that nothing listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}
