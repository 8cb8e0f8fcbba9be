package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

const (
	// browserTimeout bounds a step in the browser, on cores that other tests use too.
	browserTimeout = 2 * time.Minute
	// pictureBytes bounds a message of the browser, which can hold a screenshot.
	pictureBytes = 32 << 20
)

// browser is a page of a headless Chromium that a test controls by the DevTools protocol.
type browser struct {
	t      *testing.T
	socket *websocket.Conn
	calls  int
	// complaints are the errors of the page, also those of its content security policy.
	complaints []string
}

// visit opens a page in a new browser. script runs before those of the page. It skips the test where there is no
// browser.
func visit(t *testing.T, address, script string, flags ...string) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine")
	}
	profile := t.TempDir()
	// Chromium writes to its profile until all of its processes have ended. A context kills only the first one.
	process := exec.Command(program, append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile, "--remote-debugging-port=0",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=900,1500", "--no-first-run",
	}, append(flags, "about:blank")...)...)
	process.Env = append(os.Environ(), "HOME="+profile)
	said := &journal{}
	process.Stderr = said
	require.NoError(t, process.Start())
	exited := make(chan struct{})
	go func() { defer close(exited); _ = process.Wait() }()
	b := &browser{t: t}
	t.Cleanup(func() {
		if b.socket != nil {
			_ = b.write("Browser.close", nil)
		}
		select {
		case <-exited:
		case <-time.After(stopTimeout):
			_ = process.Process.Kill()
			<-exited
		}
		if t.Failed() {
			t.Logf("output of the browser:\n%s", said)
		}
	})
	require.True(t, poll(browserTimeout, func() bool {
		port, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		number, _, whole := strings.Cut(string(port), "\n")
		return err == nil && whole && b.connect(number)
	}), "the browser does not start: %s", said)
	b.call("Runtime.enable", nil)
	b.call("Log.enable", nil)
	b.call("Page.enable", nil)
	b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script})
	b.call("Page.navigate", map[string]any{"url": address})
	b.await(`document.readyState === "complete" && location.href !== "about:blank"`)
	return b
}

// connect connects with the first page of the browser.
func (b *browser) connect(port string) bool {
	resp, err := http.Get("http://127.0.0.1:" + port + "/json/list")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var pages []struct{ Type, WebSocketDebuggerURL string }
	if json.NewDecoder(resp.Body).Decode(&pages) != nil {
		return false
	}
	for _, page := range pages {
		if page.Type != "page" {
			continue
		}
		socket, response, err := websocket.Dial(b.t.Context(), page.WebSocketDebuggerURL, nil)
		if response != nil && response.Body != nil {
			_ = response.Body.Close()
		}
		if err != nil {
			return false
		}
		socket.SetReadLimit(pictureBytes)
		b.socket = socket
		return true
	}
	return false
}

// write sends a call of a method of the protocol.
func (b *browser) write(method string, params map[string]any) error {
	b.calls++
	ctx, cancel := context.WithTimeout(context.Background(), browserTimeout)
	defer cancel()
	return wsjson.Write(ctx, b.socket, map[string]any{"id": b.calls, "method": method, "params": params})
}

// call calls a method of the protocol and returns its result.
func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	result, refused := b.ask(method, params)
	require.Empty(b.t, refused, "%s", method)
	return result
}

// ask calls a method of the protocol. refused is the error of the browser, or empty.
func (b *browser) ask(method string, params map[string]any) (result, refused json.RawMessage) {
	b.t.Helper()
	require.NoError(b.t, b.write(method, params))
	ctx, cancel := context.WithTimeout(b.t.Context(), browserTimeout)
	defer cancel()
	for {
		var m struct {
			ID     int
			Method string
			Error  json.RawMessage
			Params json.RawMessage
			Result json.RawMessage
		}
		require.NoError(b.t, wsjson.Read(ctx, b.socket, &m), method)
		switch {
		case m.ID == b.calls:
			return m.Result, m.Error
		case m.Method == "Runtime.exceptionThrown":
			b.complaints = append(b.complaints, string(m.Params))
		case m.Method == "Log.entryAdded":
			var logged struct {
				Entry struct{ Source, Level, Text string }
			}
			require.NoError(b.t, json.Unmarshal(m.Params, &logged))
			// A test may cut the network.
			if logged.Entry.Level == "error" && logged.Entry.Source != "network" {
				b.complaints = append(b.complaints, logged.Entry.Text)
			}
		}
	}
}

// eval returns the value of an expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	raw := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	require.NoError(b.t, json.Unmarshal(raw, &got))
	require.Empty(b.t, got.ExceptionDetails, "%s", expression)
	return got.Result.Value
}

// holds reports whether an expression is true. It is false while the browser goes to another page.
func (b *browser) holds(expression string) bool {
	b.t.Helper()
	var got struct{ Result struct{ Value any } }
	raw, refused := b.ask("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	return len(refused) == 0 && json.Unmarshal(raw, &got) == nil && got.Result.Value == true
}

// text returns the text of the element with an id.
func (b *browser) text(id string) string {
	b.t.Helper()
	return fmt.Sprint(b.eval(fmt.Sprintf("document.getElementById(%q).textContent", id)))
}

// await waits until an expression is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	require.True(b.t, pollEvery(100*time.Millisecond, browserTimeout, func() bool { return b.holds(expression) }),
		"%s does not become true. The page says: %v", expression, b.eval("document.body.innerText"))
}

// typeText types a text into the element that has the focus.
func (b *browser) typeText(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text})
}

// press presses a key that has a text, or none.
func (b *browser) press(key string, code int, text string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if text != "" && kind == "keyDown" {
			params["text"] = text
		}
		b.call("Input.dispatchKeyEvent", params)
	}
}

// tab moves the focus forward until the element with an id has it.
func (b *browser) tab(id string) {
	b.t.Helper()
	for range 30 {
		b.press("Tab", 9, "")
		if b.eval("document.activeElement.id") == id {
			return
		}
	}
	b.t.Fatalf("the key Tab does not lead to %s", id)
}

// choose puts a file into the field with an id.
func (b *browser) choose(id, path string) {
	b.t.Helper()
	var field struct{ Result struct{ ObjectID string } }
	raw := b.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("document.getElementById(%q)", id)})
	require.NoError(b.t, json.Unmarshal(raw, &field))
	b.call("DOM.setFileInputFiles", map[string]any{"objectId": field.Result.ObjectID, "files": []string{path}})
}

// enter presses the key Enter.
func (b *browser) enter() { b.t.Helper(); b.press("Enter", 13, "\r") }

// picture stores a picture of the page for people, in the folder VQA_TEST_PICTURES if it is set.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("VQA_TEST_PICTURES")
	if dir == "" {
		return
	}
	var shot struct{ Data []byte }
	require.NoError(b.t, json.Unmarshal(b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}), &shot))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o600))
}
