package main_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// listening is a process of `vqa listen`, and the server that it forwards to.
type listening struct {
	*hooks
	verifier *standardwebhooks.Webhook
	cmd      *exec.Cmd
	lines    chan string
	said     journal
}

// trigger makes an event with `vqa trigger` and returns its id.
func (c *apiClient) trigger(t *testing.T) (eventID string) {
	t.Helper()
	line := string(c.tool(t, "trigger", "analysis.completed", "--url", "http://"+c.addr, "--key", c.key.APIKey))
	found := regexp.MustCompile(`^analysis\.completed  an_\w+  (evt_\w+)\n$`).FindStringSubmatch(line)
	require.NotNil(t, found, line)
	return found[1]
}

// listen starts `vqa listen` with the events after one event.
func (c *apiClient) listen(t *testing.T, after string) *listening {
	t.Helper()
	l := &listening{hooks: &hooks{got: map[string]map[string][]hook{}}, lines: make(chan string, 10_000)}
	l.Server = httptest.NewServer(l.hooks)
	t.Cleanup(l.Close)
	l.cmd = exec.CommandContext(t.Context(), c.binary, "listen", "--url", "http://"+c.addr, "--forward-to", l.URL+"/local",
		"--events", "analysis.completed", "--after", after)
	l.cmd.Env = append(c.env, "VQA_API_KEY="+c.key.APIKey)
	l.cmd.Stderr = &l.said
	stdout, err := l.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, l.cmd.Start())
	go func() {
		defer close(l.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	first := <-l.lines
	_, secret, found := strings.Cut(first, "signed with ")
	require.True(t, found, "%s\n%s", first, &l.said)
	l.verifier, err = standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	return l
}

// require waits for the events that the endpoint got, stops the process, and compares the two.
func (l *listening) require(t *testing.T, sent map[string][]hook) {
	t.Helper()
	require.True(t, poll(stopTimeout, func() bool { return len(l.events("/local")) >= len(sent) }),
		"%d of %d forwarded: %s", len(l.events("/local")), len(sent), &l.said)
	require.NoError(t, l.cmd.Process.Signal(syscall.SIGINT))
	lines := map[string]string{}
	last := ""
	for line := range l.lines {
		words := strings.Fields(line)
		require.GreaterOrEqual(t, len(words), 4, line)
		last, lines[words[2]] = words[2], line
	}
	require.NoError(t, l.cmd.Wait(), "%s", &l.said)
	require.Contains(t, l.said.String(), "continue with --after "+last)
	got := l.events("/local")
	require.Len(t, got, len(sent))
	for eventID, attempts := range got {
		require.Contains(t, sent, eventID)
		require.Len(t, attempts, 1, "it is forwarded once, also when it is refused")
		require.NoError(t, l.verifier.Verify(attempts[0].body, attempts[0].header))
		require.JSONEq(t, string(sent[eventID][0].body), string(attempts[0].body))
		require.Contains(t, lines[eventID], "  503 in ", "the receiver refuses the first attempt")
	}
}

// TestTriggerNeedsATestKey: a live key makes no event.
func TestTriggerNeedsATestKey(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 10)
	out, err := exec.CommandContext(t.Context(), c.binary, "trigger", "analysis.completed", "--url", "http://"+c.addr, "--key", c.key.APIKey).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "this is not a test key")
	out, err = exec.CommandContext(t.Context(), c.binary, "trigger", "analysis.completed", "--url", "http://"+c.addr).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "give a test key with --key or VQA_API_KEY")
	listen := exec.CommandContext(t.Context(), c.binary, "listen", "--forward-to", "http://localhost:3000", "--after", "yesterday")
	listen.Env = c.env // another service of this test run may be found, too
	out, err = listen.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--after must be the id of an event")
	require.Empty(t, c.call(t, http.MethodGet, "/v1/analyses", nil).at("data"))
}
