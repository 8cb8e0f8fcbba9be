package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/camera"
	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/stream"
	"vqa/streaming/message"
)

// endPatience bounds the requests after the stream.
const endPatience = 10 * time.Second

// streamOptions holds the flags of `vqa stream`.
type streamOptions struct {
	server, key, model               string
	narrative, recording, loop, json bool
}

func streamCommand() *cobra.Command {
	var o streamOptions
	cmd := &cobra.Command{
		Use:   "stream FILE|rtsp://… PROMPT",
		Short: "Send a camera or a file as live video and print answers as they change",
		Long: `Creates a live stream, sends a video file (MP4 or QuickTime) at its own speed or a network camera (RTSP
over TCP) to it over WebRTC, and prints a line whenever the answer changes, with the reason of an
indeterminate one. The stream ends with the file, or with Ctrl-C. Seconds with video are
billed, except while no model can assess the question.

The server and the key are found as for vqa ask. The user name and the password of a camera are part of its
URL; other users of this machine can read them in the list of processes.

With --json, each message of the service is a line, and the last line is the stream.

Exit status: 0 when the stream was completed or canceled; 1 for an error; 2 for wrong usage; 3 when the
service ended the stream for another reason, or when the model gave no answer.`,
		Example: `  vqa stream clip.mp4 "Is there a dog?"
  vqa stream rtsp://192.0.2.7/stream1 "How many people are there?" --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := locatedConfig(o.server, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return runStream(cmd.Context(), c, o, args[0], args[1], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server, "url", "", "base URL of the server")
	flags.StringVar(&o.key, "key", "", "API key (VQA_API_KEY keeps it out of the process list)")
	flags.StringVar(&o.model, "model", "", "model; when empty, the default model")
	flags.BoolVar(&o.narrative, "narrative", false, "also print a narrative of the video")
	flags.BoolVar(&o.recording, "recording", false, "record the stream")
	flags.BoolVar(&o.loop, "loop", false, "repeat the file until Ctrl-C")
	flags.BoolVar(&o.json, "json", false, "print the messages of the service as lines of JSON")
	return strict(cmd, "FILE|rtsp://…", "PROMPT")
}

func runStream(ctx context.Context, c config, o streamOptions, source, prompt string, stdout, stderr io.Writer) (err error) {
	if !strings.HasPrefix(source, "rtsp://") {
		if info, err := os.Stat(source); err != nil {
			return err
		} else if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", source)
		}
	} else if o.loop {
		return errors.New("--loop repeats a file, and a camera has no end")
	}
	runner, err := c.openFFmpeg(ctx)
	if err != nil {
		return err
	}
	s, err := connect(ctx, c, o.server, o.key, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.awaitReady(ctx)
	body := map[string]any{"prompt": prompt, "options": map[string]bool{"narrative": o.narrative}, "recording": o.recording}
	if o.model != "" {
		body["model"] = o.model
	}
	st, err := s.CreateStream(ctx, body, client.NewIdempotencyKey())
	if err != nil {
		return err
	}
	if st.Signaling == nil {
		return fmt.Errorf("the server gave no signaling URL for %s", terminal.Printable(st.ID))
	}
	p := streamPrinter{options: o, stdout: terminal.NewScreen(stdout), stderr: stderr, query: st.Query, canned: !st.Livemode}
	_, failed := camera.Run(ctx, camera.Options{
		URL: st.Signaling.URL, Token: func(ctx context.Context) (string, error) { return s.SignalToken(ctx, st.ID) },
		FFmpeg: runner, Source: source, Loop: o.loop, Received: p.print,
		Missed: func(ctx context.Context, after, before int64) ([]json.RawMessage, error) {
			return s.StreamResults(ctx, st.ID, after, before)
		},
		Notice: func(text string) { fmt.Fprintln(stderr, text) },
	})
	// The stream has ended, unless Run failed. It must not be billed further then.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	ended, err := s.EndStream(ending, st.ID)
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	return p.end(ended)
}

// streamPrinter prints what the service says about a stream.
type streamPrinter struct {
	options streamOptions
	stdout  terminal.Screen
	stderr  io.Writer
	query   query.Query
	canned  bool   // test mode
	last    string // the answer of the last line
	results int
	answers int // results that are not indeterminate
	// assessed says that a model could answer a question.
	assessed bool
	broken   error // of a line of JSON
}

func (p *streamPrinter) print(r camera.Received) {
	if m, is := r.Message.(message.Result); is {
		p.results++
		if m.Answer != answer.Indeterminate {
			p.answers++
		}
		p.assessed = p.assessed || m.UnsupportedAction == nil
	}
	if p.options.json {
		p.line(r.Raw)
		return
	}
	switch m := r.Message.(type) {
	case message.Queued:
		fmt.Fprintf(p.stderr, "queued, position %d\n", m.Position)
	case message.Live:
		fmt.Fprintln(p.stderr, "live; end the stream with Ctrl-C")
	case message.PromptUpdated:
		p.query, p.last = m.Query, ""
	case message.Result:
		p.result(m)
	case message.Warning:
		fmt.Fprintf(p.stderr, "the stream ends in %d s\n", m.RemainingS)
	case message.Error:
		fmt.Fprintf(p.stderr, "%s: %s\n", terminal.Printable(string(m.Code)), terminal.Printable(m.Message))
	}
}

// line prints JSON on one line. The first error is kept for the end.
func (p *streamPrinter) line(raw json.RawMessage) {
	var out bytes.Buffer
	err := json.Compact(&out, raw)
	if err == nil {
		out.WriteByte('\n')
		_, err = p.stdout.Write(out.Bytes())
	}
	if p.broken == nil {
		p.broken = err
	}
}

// result prints an answer that differs from the one before, and each new sentence.
func (p *streamPrinter) result(m message.Result) {
	r := client.Analysis{Result: &client.Result{Answer: string(m.Answer), Confidence: m.Confidence, DetectedCount: m.DetectedCount}}
	r.Query.PromptIntent = string(p.query.PromptIntent)
	if word := answerWord(p.stdout, r); word != p.last {
		p.last = word
		fmt.Fprintf(p.stdout, "  %8s  %s  %s\n", terminal.ClockTime(m.AtS), word, p.stdout.Paint(terminal.Dim, fmt.Sprintf("%s (%.2f)", confidenceWord(m.Confidence), m.Confidence)))
		p.reason(m)
		p.banner()
	}
	if n := m.NarrativeUpdate; n != nil {
		fmt.Fprintf(p.stdout, "  %8s  %s\n", terminal.ClockTime(n.AtS), terminal.Printable(n.Text))
	}
}

// reasonMargin puts a reason below the word of the answer.
const reasonMargin = "            "

// reason prints why an answer is indeterminate.
func (p *streamPrinter) reason(m message.Result) {
	why := ""
	if m.IndeterminateReason != nil {
		why = reasons[string(*m.IndeterminateReason)]
	}
	if m.UnsupportedAction != nil {
		why = m.UnsupportedAction.Reason + " Nothing is billed until the question changes."
	}
	for _, line := range wrapped(terminal.Printable(why), p.stdout.Columns-len(reasonMargin)) {
		fmt.Fprintf(p.stdout, "%s%s\n", reasonMargin, line)
	}
}

// banner says that an answer is one of test mode.
func (p *streamPrinter) banner() {
	if p.canned {
		fmt.Fprintf(p.stdout, "  %s\n", p.stdout.Paint(terminal.BoldYellow, "test mode: this is a fixed answer; the video was not examined"))
	}
}

// end prints the ended stream.
func (p *streamPrinter) end(st client.Stream) error {
	reason := stream.Failed
	if st.EndReason != nil {
		reason = stream.EndReason(*st.EndReason)
	}
	if p.options.json {
		if p.line(st.Raw); p.broken != nil {
			return p.broken
		}
	} else {
		parts := []string{"ended: " + string(reason)}
		if st.Usage != nil {
			parts = append(parts, fmt.Sprintf("billed %s s", terminal.Thousands(st.Usage.BilledSeconds)))
			if st.Usage.CreditBalanceAfter != nil {
				parts = append(parts, fmt.Sprintf("balance %s s", terminal.Thousands(*st.Usage.CreditBalanceAfter)))
			}
		}
		fmt.Fprintf(p.stdout, "\n  %s\n", p.stdout.Paint(terminal.Dim, terminal.Printable(strings.Join(append(parts, st.Model, st.ID), " · "))))
		p.banner()
	}
	if st.FailureDiagnostic != nil {
		fmt.Fprintf(p.stderr, "vqa: %s\n", terminal.Printable(st.FailureDiagnostic.Hint))
	}
	silent := p.results == 0 && (reason == stream.Completed || reason == stream.InsufficientCredits)
	if silent {
		fmt.Fprintln(p.stderr, "vqa: The model gave no answer. Check the engine with vqa doctor, or send a longer video.")
	}
	if p.results > 0 && p.answers == 0 && p.assessed && !p.options.json {
		fmt.Fprintln(p.stderr, "vqa: Every answer was indeterminate. Ask about a class that GET /v1/models lists, or show it larger and longer.")
	}
	if silent || reason != stream.Completed && reason != stream.Canceled {
		return exitFailed
	}
	return nil
}
