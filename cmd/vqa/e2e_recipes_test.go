package main_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// receivers are programs that receive webhooks, behind a TLS server.
type receivers struct {
	*hooks

	mu      sync.Mutex
	address map[string]string // by path
}

// ServeHTTP keeps the request and passes it on to the program of its path.
func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.hooks.mu.Lock()
	if r.got[req.URL.Path] == nil {
		r.got[req.URL.Path] = map[string][]hook{}
	}
	eventID := req.Header.Get("webhook-id")
	r.got[req.URL.Path][eventID] = append(r.got[req.URL.Path][eventID], hook{req.Header.Clone(), body})
	r.hooks.mu.Unlock()
	r.mu.Lock()
	address := r.address[req.URL.Path]
	r.mu.Unlock()
	status, err := hook{req.Header, body}.post(address)
	if err != nil {
		status = http.StatusBadGateway
	}
	w.WriteHeader(status)
}

// post sends the webhook to a program and returns the status of its response.
func (h hook) post(address string) (int, error) {
	req, err := http.NewRequest(http.MethodPost, "http://"+address+"/hook", bytes.NewReader(h.body))
	if err != nil {
		return 0, err
	}
	req.Header = h.header.Clone()
	resp, err := (&http.Client{Timeout: toolTimeout}).Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// signed returns the body signed with a secret at a time.
func (h hook) signed(t *testing.T, secret string, at time.Time) hook {
	t.Helper()
	signer, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	signature, err := signer.Sign(h.header.Get("webhook-id"), at, h.body)
	require.NoError(t, err)
	header := h.header.Clone()
	header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	header.Set("webhook-signature", signature)
	return hook{header, h.body}
}

// recipes builds the receivers of docs/webhooks.md and returns the command of each by its path.
func recipes(t *testing.T) map[string][]string {
	t.Helper()
	folder := t.TempDir()
	kit := filepath.Join(root, "handlers", "webhook", "receivers")
	modules, err := filepath.Abs(filepath.Join(kit, "node_modules"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type": "module"}`), 0o600))
	python, err := filepath.Abs(filepath.Join(root, ".cache", "receivers", "bin", "python"))
	require.NoError(t, err)
	_, err = os.Stat(python)
	withPython := err == nil
	if !withPython {
		t.Log("skipping the recipes in Python: make test-setup could not install their packages")
	}
	commands := map[string][]string{}
	save := func(name, language, text string) {
		file := filepath.Join(folder, name+"."+language)
		switch language {
		case "go":
			runProgram(t, root, nil, "go", "build", "-o", filepath.Join(folder, name), written(t, file, text))
			commands[name] = []string{filepath.Join(folder, name)}
		case "ts":
			written(t, file, text)
			commands[name] = []string{"node", filepath.Join(folder, name+".js")}
		case "python":
			if withPython {
				commands[name] = []string{python, written(t, file, text)}
			}
		}
	}
	for _, l := range listingsFor(t, "docs/webhooks.md", "TestWebhookRecipes") {
		name := strings.ToLower(strings.ReplaceAll(l.section, " ", "-"))
		save(name, l.language, l.text)
		svix := strings.NewReplacer("from standardwebhooks import", "from svix.webhooks import", `from "standardwebhooks"`, `from "svix"`).Replace(l.text)
		if svix != l.text {
			save(name+"-svix", l.language, svix)
		}
	}
	sources, err := filepath.Glob(filepath.Join(folder, "*.ts"))
	require.NoError(t, err)
	runProgram(t, folder, nil, "node", slices.Concat([]string{"node_modules/typescript/bin/tsc", "--strict", "--target", "es2022",
		"--module", "nodenext", "--types", "node", "--skipLibCheck"}, sources)...)
	require.Subset(t, slices.Collect(maps.Keys(commands)), []string{"go", "go-by-hand", "typescript", "typescript-svix", "typescript-by-hand"})
	return commands
}

// written writes a file and returns its path.
func written(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// receive starts a receiver and returns its address when it accepts connections.
func receive(t *testing.T, command []string, secret string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	var said journal
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "PORT="+port)
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.True(t, poll(toolTimeout, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}), "%v: %s", command, &said)
	return address
}

// hangUp sends a receiver a part of a body and closes the connection. It must not end the receiver.
func hangUp(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = io.WriteString(c, "POST /hook HTTP/1.1\r\nHost: receiver\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// TestWebhookRecipes delivers events to the receivers of docs/webhooks.md, and to the same ones with the libraries of
// Svix, before and after the secret changes. They refuse what is not genuine.
func TestWebhookRecipes(t *testing.T) {
	t.Parallel()
	needPrograms(t, "node")
	commands := recipes(t)
	r := &receivers{hooks: newHooks(t), address: map[string]string{}}
	r.Config.Handler = r
	s, err := newService("VQA_EGRESS_ALLOW="+r.Listener.Addr().String(), "VQA_EGRESS_CA_FILE="+r.caFile)
	require.NoError(t, err)
	require.NoError(t, s.start())
	t.Cleanup(func() { _ = s.terminate() })
	sandbox := (&apiClient{service: s}).call(t, http.MethodPost, "/v1/sandbox", nil)
	c := &apiClient{s, issued{APIKey: sandbox.text("api_key")}}

	endpoints, secrets := map[string]string{}, map[string]string{}
	for name, command := range commands {
		made := c.call(t, http.MethodPost, "/v1/webhook_endpoints", map[string]any{"url": r.URL + "/" + name, "events": []string{"analysis.completed"}})
		require.Equal(t, http.StatusCreated, made.status, "%s", made.raw)
		endpoints[name], secrets[name] = "/v1/webhook_endpoints/"+made.text("id"), made.text("secret")
		address := receive(t, command, secrets[name])
		hangUp(t, address)
		r.mu.Lock()
		r.address["/"+name] = address
		r.mu.Unlock()
	}
	before := c.trigger(t)
	renewed := map[string]string{}
	for name, endpoint := range endpoints {
		require.True(t, poll(stopTimeout, func() bool { return c.delivered(t, endpoint) == 1 }), name)
		renewed[name] = c.call(t, http.MethodPost, endpoint+"/rotate_secret", nil).text("secret")
	}
	after := c.trigger(t)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		t.Run(name, func(t *testing.T) {
			require.True(t, poll(stopTimeout, func() bool { return c.delivered(t, endpoints[name]) == 2 }), "the old secret is still good")
			first, second := r.events("/" + name)[before], r.events("/" + name)[after]
			require.Len(t, first, 1, "the receiver accepts the first attempt")
			require.Len(t, second, 1)
			require.Len(t, strings.Fields(second[0].header.Get("webhook-signature")), 2)
			changed := receive(t, commands[name], renewed[name])
			for _, tt := range []struct {
				what, address string
				sent          hook
				status        int
			}{
				{"two secrets sign after the rotation", changed, second[0], http.StatusNoContent},
				{"an earlier event has only the old signature", changed, first[0], http.StatusBadRequest},
				{"a repeat", r.address["/"+name], first[0], http.StatusNoContent},
				{"a changed byte", r.address["/"+name], hook{first[0].header, bytes.Replace(first[0].body, []byte(`"yes"`), []byte(`"yEs"`), 1)}, http.StatusBadRequest},
				{"signed again", r.address["/"+name], first[0].signed(t, secrets[name], time.Now()), http.StatusNoContent},
				{"an old timestamp", r.address["/"+name], first[0].signed(t, secrets[name], time.Now().Add(-6*time.Minute)), http.StatusBadRequest},
				{"a timestamp of the future", r.address["/"+name], first[0].signed(t, secrets[name], time.Now().Add(6*time.Minute)), http.StatusBadRequest},
				{"a foreign secret", r.address["/"+name], first[0].signed(t, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)), time.Now()), http.StatusBadRequest},
				{"no signature", r.address["/"+name], hook{http.Header{"Webhook-Id": {before}, "Webhook-Timestamp": {strconv.FormatInt(time.Now().Unix(), 10)}}, first[0].body}, http.StatusBadRequest},
			} {
				require.Contains(t, string(first[0].body), `"yes"`)
				status, err := tt.sent.post(tt.address)
				require.NoError(t, err, tt.what)
				require.Equal(t, tt.status, status, tt.what)
			}
		})
	}
}

// delivered counts the deliveries to an endpoint that it accepted.
func (c *apiClient) delivered(t *testing.T, endpoint string) int {
	t.Helper()
	return len(c.call(t, http.MethodGet, endpoint+"/deliveries?status=delivered", nil).at("data").([]any))
}
