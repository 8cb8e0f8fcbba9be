package main_test

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreignProvider runs the OpenID provider of the npm package oidc-provider for a service, and returns the settings
// of the service.
func foreignProvider(t *testing.T, s *service) []string {
	t.Helper()
	kit := filepath.Join(root, "handlers/mcp/clients")
	node := filepath.Join("node_modules", "node-linux-"+map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], "bin/node")
	if _, err := os.Stat(filepath.Join(kit, node)); err != nil {
		t.Skip("make test-setup could not install the packages of agents")
	}
	secured := httptest.NewTLSServer(nil) // for its certificate of 127.0.0.1
	defer secured.Close()
	key, err := x509.MarshalPKCS8PrivateKey(secured.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	folder := t.TempDir()
	write := func(name, kind string, raw []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600))
		return path
	}
	certificate := write("certificate.pem", "CERTIFICATE", secured.Certificate().Raw)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	cmd := exec.Command(node, "provider.js", port, certificate, write("key.pem", "PRIVATE KEY", key), "http://"+s.addr+"/signin/callback")
	said := &journal{}
	cmd.Dir, cmd.Stderr = kit, said
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the provider does not start: %s", said)
	var started struct{ Issuer string }
	require.NoError(t, json.Unmarshal(lines.Bytes(), &started), lines.Text())
	return []string{
		"VQA_OIDC_ISSUER=" + started.Issuer, "VQA_OIDC_CLIENT_ID=vqa", "VQA_OIDC_CLIENT_SECRET=secret-of-the-test", "VQA_EGRESS_CA_FILE=" + certificate,
	}
}

// TestSignInAtAForeignProvider signs a person in at an OpenID provider that this project did not write, with Chromium.
// The person came from an agent, allows it, and the agent gets its answer.
func TestSignInAtAForeignProvider(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	s := ownServiceLater(t)
	s.env = append(s.env, foreignProvider(t, s)...)
	require.NoError(t, s.start())
	a := startAgent(t, s)
	b := visit(t, a.authorize, "", "--ignore-certificate-errors")
	b.await(`location.pathname === "/signin" && document.readyState === "complete"`)
	b.picture("signin-provider")
	b.click(`a[href^="/signin/provider?"]`)
	b.await(`location.protocol === "https:" && !!document.querySelector('input[name="login"]')`)
	b.eval(`document.querySelector('input[name="login"]').value = "ada"; document.querySelector('input[name="password"]').value = "x"`)
	b.click(`button[type="submit"]`)
	b.await(`location.protocol === "https:" && !!document.querySelector('input[name="prompt"][value="consent"]')`)
	b.click(`button[type="submit"]`)
	b.await(`location.pathname === "/authorize" && document.readyState === "complete" && location.host === ` + quoted(s.addr))
	b.click(`input[name="mode"][value="test"]`)
	b.click(`button[value="allow"]`)
	b.await(`document.title === "connected"`)
	a.finish()

	var listed []struct {
		AccountID string `json:"account_id"`
		Method    string
	}
	require.NoError(t, json.Unmarshal(s.tool(t, "sessions", "list", "--json"), &listed))
	require.Len(t, listed, 1)
	require.Equal(t, "provider", listed[0].Method)

	// The same login is the same account in another browser, and another login is another one.
	again := func(login string) string {
		other := visit(t, "http://"+s.addr+"/signin/provider?return_to="+url.QueryEscape("/account/sessions"), "", "--ignore-certificate-errors")
		other.await(`location.protocol === "https:" && !!document.querySelector('input[name="login"]')`)
		other.eval(`document.querySelector('input[name="login"]').value = ` + quoted(login) + `; document.querySelector('input[name="password"]').value = "x"`)
		other.click(`button[type="submit"]`)
		other.await(`location.protocol === "https:" && !!document.querySelector('input[name="prompt"][value="consent"]')`)
		other.click(`button[type="submit"]`)
		other.await(`location.pathname === "/account/sessions" && !!document.querySelector("main code")`)
		return other.eval(`document.querySelector("main code").textContent`).(string)
	}
	require.Equal(t, listed[0].AccountID, again("ada"))
	require.NotEqual(t, listed[0].AccountID, again("grace"))
}
