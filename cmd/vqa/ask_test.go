package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/evaluate"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/eventstore/storetest"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
	"vqa/migrations"
	"vqa/projections"
	"vqa/projections/resources"
)

// askWait is long, because the tests of all packages share the machine's cores.
const askWait = 4 * time.Minute

// toolConfig returns a configuration with its own database and data folder.
func toolConfig(t *testing.T) config {
	t.Helper()
	addr := "127.0.0.1:" + freePort(t)
	c, err := env.ParseAsWithOptions[config](env.Options{Environment: map[string]string{
		"VQA_ADDR": addr, "VQA_PUBLIC_URL": "http://" + addr, "VQA_DATA_DIR": t.TempDir(),
		"VQA_DATABASE_URL": storetest.Database(t, migrations.Up, migrations.Version()), "VQA_LOG_LEVEL": "error",
		"VQA_DEMO": "false",
	}})
	require.NoError(t, err)
	require.NoError(t, c.check())
	return c
}

// freePort is a port of the loopback interface that no program listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

// fixtureFolder returns a folder with the clip of test mode. The real engine can analyze it too.
func fixtureFolder(t *testing.T) (dir, clip string) {
	t.Helper()
	dir = t.TempDir()
	clip = filepath.Join(dir, fixture.Filename)
	require.NoError(t, os.WriteFile(clip, fixture.Bytes(), 0o600))
	return dir, clip
}

// buffer collects the output of a command and of its server.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
	// on is called, once, when the text matches until.
	until *regexp.Regexp
	on    func()
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.text.Write(p)
	if b.on != nil && b.until.MatchString(b.text.String()) {
		b.on()
		b.on = nil
	}
	return n, err
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestAskAlone asks without a running server. The command starts a server, ends it, and creates a key.
func TestAskAlone(t *testing.T) {
	t.Parallel()
	c := toolConfig(t)
	_, clip := fixtureFolder(t)
	var out, notices buffer
	require.NoError(t, runAsk(t.Context(), c, askOptions{wait: askWait}, clip, fixture.Prompt, &out, &notices), notices.String())
	text := out.String()
	require.Contains(t, text, "YES  "+fixture.Prompt)
	require.Contains(t, text, "confidence  reliable")
	require.Contains(t, text, "█")
	require.Contains(t, text, "╵0:00")
	require.Contains(t, text, "billed 6 s · balance 5,994 s")
	require.Contains(t, notices.String(), "starting one for this command")
	require.Contains(t, notices.String(), "created a live key")
	info, err := os.Stat(storedKeyPath(c))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.False(t, client.New(c.PublicURL).Healthy(t.Context()), "the server ended with the command")
}

func TestAskBesideAServer(t *testing.T) {
	t.Parallel()
	c := toolConfig(t)
	s, err := startServer(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.Eventually(t, func() bool { return client.New(c.PublicURL).Ready(t.Context()) }, time.Minute, 100*time.Millisecond)
	dir, clip := fixtureFolder(t)
	ask := func(ctx context.Context, source, prompt string, asJSON bool) (out string, notices string, err error) {
		var o, n buffer
		err = runAsk(ctx, c, askOptions{wait: askWait, json: asJSON}, source, prompt, &o, &n)
		return o.String(), n.String(), err
	}

	out, notices, err := ask(t.Context(), clip, "How many balls are there?", false)
	require.NoError(t, err)
	require.Contains(t, out, "\n  1  How many balls are there?\n", "the number comes first")
	require.Contains(t, out, "count       1 at the same time")
	require.Contains(t, notices, "created a live key")
	require.NotContains(t, notices, "starting one")

	t.Run("what was uploaded is not uploaded again", func(t *testing.T) {
		videos := func() int { return len(s.videosOf(t, c)) }
		before := videos()
		out, notices, err := ask(t.Context(), clip, fixture.Prompt, false)
		require.NoError(t, err)
		require.Contains(t, notices, "was uploaded before, as video_")
		require.NotContains(t, notices, "uploading")
		require.Equal(t, before, videos())
		require.Regexp(t, `(?m)^  annotated video  http://\S+$`, out)
		require.Regexp(t, `(?m)^  contact sheet    http://\S+$`, out)

		videoID := s.videosOf(t, c)[0]
		require.Contains(t, out, videoID, "the id for further commands")
		out, _, err = ask(t.Context(), videoID, fixture.Prompt, false)
		require.NoError(t, err)
		require.Contains(t, out, "YES  "+fixture.Prompt)
		require.Equal(t, before, videos())

		k, err := readKey(storedKeyPath(c))
		require.NoError(t, err)
		require.NoError(t, s.commands.DeleteVideo(t.Context(), command.Caller{AccountID: k.AccountID, KeyID: k.KeyID, Livemode: true}, videoID))
		_, notices, err = ask(t.Context(), clip, fixture.Prompt, false)
		require.NoError(t, err, "a deleted video is uploaded again")
		require.Contains(t, notices, "uploading")
		_, _, err = ask(t.Context(), videoID, fixture.Prompt, false)
		require.ErrorContains(t, err, videoID)
	})
	t.Run("a bad prompt uploads nothing", func(t *testing.T) {
		before := len(s.videosOf(t, c))
		fresh := filepath.Join(t.TempDir(), "fresh.mp4")
		require.NoError(t, os.WriteFile(fresh, append(fixture.Bytes(), "\x00\x00\x00\x08free"...), 0o600))
		_, _, err := ask(t.Context(), fresh, strings.Repeat("dog ", 600), false)
		require.ErrorContains(t, err, "prompt_too_long")
		out, _, err := ask(t.Context(), fresh, "What is happening?", false)
		require.NoError(t, err)
		require.Contains(t, out, "INDETERMINATE  What is happening?")
		require.Contains(t, out, c.PublicURL+"/docs/questions#open_ended")
		require.Contains(t, out, "nothing was uploaded or billed")
		require.Contains(t, out, "  ask instead Is there a ")
		out, _, err = ask(t.Context(), fresh, "How many unicorns are there?", false)
		require.NoError(t, err)
		require.Contains(t, out, `The model does not know "unicorn"`)
		require.Contains(t, out, "nothing was uploaded or billed")
		require.Len(t, s.videosOf(t, c), before)
	})
	t.Run("a server at another address is found through the data folder", func(t *testing.T) {
		elsewhere := c
		elsewhere.Addr = "127.0.0.1:" + freePort(t)
		elsewhere.PublicURL = "http://" + elsewhere.Addr
		var o, n buffer
		require.NoError(t, runAsk(t.Context(), elsewhere, askOptions{wait: askWait}, clip, fixture.Prompt, &o, &n), n.String())
		require.NotContains(t, n.String(), "no server is running")
	})
	t.Run("with a narrative", func(t *testing.T) {
		var o, n buffer
		require.NoError(t, runAsk(t.Context(), c, askOptions{wait: askWait, narrative: true}, clip, fixture.Prompt, &o, &n), n.String())
		require.Regexp(t, `(?m)^  +0:0\d\.\d  .*ball`, o.String())
	})
	t.Run("json, with the key that was kept", func(t *testing.T) {
		out, notices, err := ask(t.Context(), clip, "What is happening?", true)
		require.NoError(t, err)
		require.NotContains(t, notices, "created a live key")
		var a struct {
			Object string         `json:"object"`
			Query  map[string]any `json:"query"`
			Result client.Result  `json:"result"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		require.Equal(t, "analysis", a.Object)
		require.Equal(t, "open_ended", a.Query["prompt_intent"], "the whole resource is printed")
		require.Equal(t, "unsupported_query_form", *a.Result.IndeterminateReason)
	})
	t.Run("a refused key is replaced", func(t *testing.T) {
		old, err := readKey(storedKeyPath(c))
		require.NoError(t, err)
		require.NoError(t, s.commands.RevokeKey(t.Context(), old.AccountID, old.KeyID, "test", ""))
		_, notices, err := ask(t.Context(), clip, "What is happening?", false)
		require.NoError(t, err)
		require.Contains(t, notices, "created a live key")
		replaced, err := readKey(storedKeyPath(c))
		require.NoError(t, err)
		require.NotEqual(t, old.APIKey, replaced.APIKey)
		require.Equal(t, command.OperatorAccount(), replaced.AccountID, "the browser of the operator has the same balance")
	})
	t.Run("an interrupt cancels", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		fresh := filepath.Join(t.TempDir(), "fresh.mp4") // no survey of these bytes is stored
		require.NoError(t, os.WriteFile(fresh, append(fixture.Bytes(), "\x00\x00\x00\x08free"...), 0o600))
		notices := buffer{until: regexp.MustCompile("queued|preparing|analyzing"), on: cancel} // a worker may have started already
		before, err := s.ledger.Balance(t.Context(), command.OperatorAccount())
		require.NoError(t, err)
		err = runAsk(ctx, c, askOptions{wait: askWait}, fresh, fixture.Prompt, io.Discard, &notices)
		require.ErrorContains(t, err, "was canceled and is not billed")
		balance, err := s.ledger.Balance(t.Context(), command.OperatorAccount())
		require.NoError(t, err)
		require.Equal(t, before.AvailableSeconds(), balance.AvailableSeconds())
	})
	t.Run("errors of the API", func(t *testing.T) {
		text := filepath.Join(dir, "text.mp4")
		require.NoError(t, os.WriteFile(text, []byte("no video"), 0o600))
		_, _, err := ask(t.Context(), text, fixture.Prompt, false)
		require.ErrorContains(t, err, "video_unreadable: ")
		_, _, err = ask(t.Context(), "http://example.com/a.mp4", fixture.Prompt, false)
		require.ErrorContains(t, err, "(url)", "the field is named")
		_, _, err = ask(t.Context(), filepath.Join(dir, "missing.mp4"), fixture.Prompt, false)
		require.ErrorIs(t, err, os.ErrNotExist)
		_, _, err = ask(t.Context(), dir, fixture.Prompt, false)
		require.ErrorContains(t, err, "is not a file")
		_, err = connect(t.Context(), c, "http://127.0.0.1:"+freePort(t), "", io.Discard)
		require.ErrorContains(t, err, "no server answers")
	})
	t.Run("eval", func(t *testing.T) {
		truth := `[{"file":"` + fixture.Filename + `","form":"presence","question":"Is there a ball?","answer":"yes","count":null,"clips":[[1,4.5]]},
			{"file":"` + fixture.Filename + `","form":"absence","question":"Is there a dog?","answer":"no","count":null,"clips":null},
			{"file":"` + fixture.Filename + `","form":"count","question":"How many balls are there?","answer":"yes","count":7,"clips":null}]`
		require.NoError(t, os.WriteFile(filepath.Join(dir, "truth.json"), []byte(truth), 0o600))
		questions, err := evaluate.ReadTruth(dir)
		require.NoError(t, err)
		session, err := connect(t.Context(), c, "", "", io.Discard)
		require.NoError(t, err)
		outcomes, err := evaluate.Run(t.Context(), session.evaluation(dir, io.Discard), questions)
		require.NoError(t, err)
		r := evaluate.NewReport(outcomes)
		require.Equal(t, 3, r.Supported.Asked)
		require.Equal(t, 2, r.Supported.Right, "%+v", outcomes)
		require.Greater(t, *r.Supported.MeanOverlap, 0.7)
		require.False(t, outcomes[2].Right, "one ball is not seven")
		require.Equal(t, 1, *outcomes[2].GotCount)
	})
	t.Run("eval and calibrate without a server", func(t *testing.T) {
		kept, output := t.TempDir(), filepath.Join(t.TempDir(), "fitted.json")
		run := func(args ...string) []byte {
			root := rootCommand()
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetErr(io.Discard)
			root.SetArgs(append(args, dir))
			require.NoError(t, root.ExecuteContext(t.Context()))
			return out.Bytes()
		}
		var r evaluate.Report
		require.NoError(t, json.Unmarshal(run("eval", "--json", "--evidence", kept), &r))
		require.Equal(t, 2, r.Total.Right, "%+v", r.Outcomes)
		require.Greater(t, *r.Total.MeanOverlap, 0.7)
		run("calibrate", "--evidence", kept, "--output", output)
		raw, err := os.ReadFile(output)
		require.NoError(t, err)
		p, err := answer.ParseParameters(raw)
		require.NoError(t, err)
		require.FileExists(t, evaluate.SeenPath(kept, fixture.Filename, p.Weights, 0))
		files, err := filepath.Glob(filepath.Join(kept, "*.gob.gz"))
		require.NoError(t, err)
		require.Len(t, files, 1)
	})
}

// videosOf lists the videos of the account of the stored key, newest first.
func (s *server) videosOf(t *testing.T, c config) []string {
	t.Helper()
	k, err := readKey(storedKeyPath(c))
	require.NoError(t, err)
	list, _, err := s.resources.Videos(t.Context(), resources.Tenant{AccountID: k.AccountID, Livemode: true}, "", projections.Page{Limit: 100})
	require.NoError(t, err)
	ids := make([]string, len(list))
	for i, v := range list {
		ids[i] = v.ID
	}
	return ids
}

// TestAskDoesNotWaitForeverForANarrative uses a fake server that never writes the narrative.
func TestAskDoesNotWaitForeverForANarrative(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"an_1","narrative":{"status":"generating","entries":[]}}`)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	a := client.Analysis{ID: "an_1", Model: "sight-1", Livemode: true, Result: result("no", nil)}
	require.NoError(t, json.Unmarshal([]byte(`{"narrative":{"status":"generating"}}`), &a))
	a = client.FollowNarrative(ctx, client.New(server.URL), a, time.Millisecond)
	require.True(t, a.Narrating())
	a.Result = result("no", nil)
	var out bytes.Buffer
	printAnswer(terminal.Screen{Writer: &out, Columns: 80}, a)
	require.Contains(t, out.String(), "the narrative is still being written: vqa show an_1")
}

// TestAskReportsAFailedAnalysis uses a fake server whose engine fails.
func TestAskReportsAFailedAnalysis(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	says := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	says("GET /healthz", `{"status":"ok","checks":{}}`)
	says("POST /v1/videos", `{"id":"video_1","status":"awaiting_upload","upload":{"method":"PUT","url":"`+server.URL+`/put","headers":{}}}`)
	says("PUT /put", ``)
	says("POST /v1/videos/video_1/complete", `{"id":"video_1","status":"ready"}`)
	says("POST /v1/analyses", `{"id":"an_1","status":"queued","progress":{"stage":"queued","percent":0},"queue_position":2,"estimated_start_s":25}`)
	readings := []string{
		`{"id":"an_1","status":"analyzing","progress":{"stage":"analyzing","percent":40}}`,
		`{"id":"an_1","status":"failed","error":{"code":"inference_error","message":"The model failed."}}`,
	}
	reads := 0
	mux.HandleFunc("GET /v1/analyses/an_1", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, readings[reads%len(readings)])
		reads++ // the only client sends one request at a time
	})
	_, clip := fixtureFolder(t)
	var out, notices buffer
	o := askOptions{server: server.URL, key: "svc_live_x", wait: time.Minute}
	require.ErrorIs(t, runAsk(t.Context(), config{DataDir: t.TempDir()}, o, clip, fixture.Prompt, &out, &notices), exitFailed)
	require.Empty(t, out.String())
	require.Contains(t, notices.String(), "\nqueued, place 2, starts in about 25s\nanalyzing 25%\n")
	require.Contains(t, notices.String(), "vqa: the analysis failed: inference_error: The model failed.\n")
	o.json = true
	require.ErrorIs(t, runAsk(t.Context(), config{DataDir: t.TempDir()}, o, clip, fixture.Prompt, &out, &notices), exitFailed)
	require.Contains(t, out.String(), `"status": "failed"`)
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	require.Empty(t, wrapped("", 10))
	require.Equal(t, []string{"one two", "three"}, wrapped("one two three", 8))
	require.Equal(t, []string{"one two", "three"}, wrapped("one two three", 7))
	require.Equal(t, []string{"more", "http://127.0.0.1/a/b", "é é"}, wrapped("more http://127.0.0.1/a/b é é", 6))
	require.Equal(t, []string{"confidence  reliable (0.90)"}, wrapped("confidence  reliable (0.90)", 40))
}

// TestAskRefusesAFileBeforeTheUpload: no server answers, and none is needed to see what the file is.
func TestAskRefusesAFileBeforeTheUpload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "clip.mp4")
	require.NoError(t, os.WriteFile(file, []byte("\x1a\x45\xdf\xa3webm"), 0o600))
	var out, notices buffer
	err := runAsk(t.Context(), config{DataDir: t.TempDir()}, askOptions{server: "http://127.0.0.1:9", key: "svc_live_x"}, file, "Is there a dog?", &out, &notices)
	require.ErrorContains(t, err, "clip.mp4: video_unreadable: The file is WebM or Matroska, not MP4 or QuickTime. Convert it: ffmpeg -i INPUT")
}
