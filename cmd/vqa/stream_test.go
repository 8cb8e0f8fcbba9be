package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/camera"
	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/handlers/intake/fixture"
	"vqa/streaming/message"
)

func received(t *testing.T, messages ...message.Server) []camera.Received {
	t.Helper()
	var all []camera.Received
	for _, m := range messages {
		raw, err := message.Encode(m)
		require.NoError(t, err)
		all = append(all, camera.Received{Message: m, Raw: raw})
	}
	return all
}

func TestStreamPrintsAnswersWhenTheyChange(t *testing.T) {
	t.Parallel()
	count := func(n int) *int { return &n }
	result := func(atS float64, a answer.Answer, n *int) message.Result {
		return message.Result{AtS: atS, Answer: a, Confidence: 0.8, DetectedCount: n}
	}
	narrated := result(3, answer.No, nil)
	narrated.NarrativeUpdate = &stream.NarrativeUpdate{AtS: 2.5, Text: "A dog\nleaves."}
	reason, balance := "completed", int64(5990)
	ended := client.Stream{ID: "st_1", Model: "sight-1", Livemode: true, EndReason: &reason, Raw: json.RawMessage("{\n \"id\": \"st_1\"}")}
	ended.Usage = &struct {
		BilledSeconds      int64  `json:"billed_seconds"`
		CreditBalanceAfter *int64 `json:"credit_balance_after"`
	}{10, &balance}

	messages := received(t, message.Queued{Position: 2}, message.Live{}, result(0, answer.Yes, nil), result(1, answer.Yes, nil), narrated,
		message.Warning{RemainingS: 60}, message.Error{Code: "engine_unavailable", Message: "No\nresults."}, message.Metering{})
	var stdout, stderr bytes.Buffer
	p := streamPrinter{stdout: terminal.NewScreen(&stdout), stderr: &stderr}
	for _, m := range messages {
		p.print(m)
	}
	require.NoError(t, p.end(ended))
	require.Equal(t, "    0:00.0  YES  reliable (0.80)\n    0:03.0  NO  reliable (0.80)\n    0:02.5  A dog\\u000aleaves.\n"+
		"\n  ended: completed · billed 10 s · balance 5,990 s · sight-1 · st_1\n", stdout.String())
	require.Equal(t, "queued, position 2\nlive; end the stream with Ctrl-C\nthe stream ends in 60 s\nengine_unavailable: No\\u000aresults.\n", stderr.String())

	stdout.Reset()
	p = streamPrinter{stdout: terminal.NewScreen(&stdout), stderr: &stderr, query: english.Compile("How many dogs are there?")}
	for _, m := range received(t, result(0, answer.Yes, count(2)), result(1, answer.Yes, count(2)), result(2, answer.Yes, count(1200))) {
		p.print(m)
	}
	require.Equal(t, "    0:00.0  2  reliable (0.80)\n    0:02.0  1200  reliable (0.80)\n", stdout.String())

	stdout.Reset()
	p = streamPrinter{stdout: terminal.NewScreen(&stdout), stderr: &stderr, options: streamOptions{json: true}}
	for _, m := range messages {
		p.print(m)
	}
	reason = "error"
	require.ErrorIs(t, p.end(ended), exitFailed)
	lines := bytes.Split(bytes.TrimSpace(stdout.Bytes()), []byte("\n"))
	require.Len(t, lines, len(messages)+1)
	for _, line := range lines {
		require.True(t, json.Valid(line), "%s", line)
	}
	require.JSONEq(t, `{"id": "st_1"}`, string(lines[len(messages)]))

	for _, asJSON := range []bool{false, true} {
		stderr.Reset()
		p = streamPrinter{stdout: terminal.NewScreen(&stdout), stderr: &stderr, options: streamOptions{json: asJSON}}
		p.print(received(t, message.Live{})[0])
		reason = "completed"
		require.ErrorIs(t, p.end(ended), exitFailed)
		reason = "insufficient_credits"
		require.ErrorIs(t, p.end(ended), exitFailed)
		require.Equal(t, 2, strings.Count(stderr.String(), "The model gave no answer"), stderr.String())
		reason = "canceled"
		require.NoError(t, p.end(ended), "it was never live")
	}
}

// printed returns what a printer says about a question and messages.
func printed(t *testing.T, prompt string, messages []message.Server) (p *streamPrinter, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	p = &streamPrinter{stdout: terminal.NewScreen(stdout), stderr: stderr, query: english.Compile(prompt)}
	for _, m := range received(t, messages...) {
		p.print(m)
	}
	return p, stdout, stderr
}

// TestStreamSaysWhyAQuestionHasNoAnswer: the reason comes with each change to an indeterminate answer.
func TestStreamSaysWhyAQuestionHasNoAnswer(t *testing.T) {
	t.Parallel()
	unsure := message.Result{Answer: answer.Indeterminate, IndeterminateReason: new(query.LowConfidence)}
	refused := message.Result{
		Answer: answer.Indeterminate, IndeterminateReason: new(query.UnsupportedQueryForm),
		UnsupportedAction: answer.Refused(english.Compile("Is the dog barking?")).UnsupportedAction,
	}
	barking := `
            Sound is not assessed, only the picture. Ask in English about
            visible objects, for example "Is there a dog?" or "How many cars are
            there?". Nothing is billed until the question changes.
`
	doubtful := `
            The model found something, but its confidence is too low for an
            answer.
`
	const line, yes = "    0:00.0  INDETERMINATE  unreliable (0.00)", "    0:00.0  YES  reliable (0.90)\n"
	for name, tt := range map[string]struct {
		prompt   string
		messages []message.Server
		want     string
	}{
		"a question that cannot be assessed": {"Is the dog barking?", []message.Server{refused, refused}, line + barking},
		"the model is not sure":              {"Is there a dog?", []message.Server{unsure, unsure}, line + doubtful},
		"another question": {"Is the dog barking?", []message.Server{
			refused, message.PromptUpdated{Query: english.Compile("Is there a dog?")}, message.Result{Answer: answer.Yes, Confidence: .9}, unsure,
			message.PromptUpdated{Query: english.Compile("Is the dog barking?")}, refused,
		}, line + barking + yes + line + doubtful + line + barking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stdout, stderr := printed(t, tt.prompt, tt.messages)
			require.Equal(t, tt.want, stdout.String())
			require.Empty(t, stderr.String())
		})
	}
}

// TestStreamOfTestMode: each answer that is printed has the banner below it.
func TestStreamOfTestMode(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	p := streamPrinter{stdout: terminal.NewScreen(&stdout), stderr: &bytes.Buffer{}, canned: true}
	for _, m := range received(t, message.Result{Answer: answer.Yes, Confidence: .9}, message.Result{AtS: 1, Answer: answer.No, Confidence: .9}) {
		p.print(m)
	}
	const banner = "  test mode: this is a fixed answer; the video was not examined\n"
	require.Equal(t, "    0:00.0  YES  reliable (0.90)\n"+banner+"    0:01.0  NO  reliable (0.90)\n"+banner, stdout.String())
}

// TestStreamSaysThatNoAnswerWasSure: such as about an object that the model does not know.
func TestStreamSaysThatNoAnswerWasSure(t *testing.T) {
	t.Parallel()
	unsure, sure := message.Result{Answer: answer.Indeterminate}, message.Result{Answer: answer.No, Confidence: .9}
	refused := unsure
	refused.UnsupportedAction = &answer.UnsupportedAction{Reason: "Sound is not assessed."}
	reason := "completed"
	for name, tt := range map[string]struct {
		prompt   string
		messages []message.Server
		says     bool
	}{
		"an unknown object":      {"Is there a dragon?", []message.Server{unsure, unsure}, true},
		"an answer in between":   {"Is there a dragon?", []message.Server{unsure, sure, unsure}, false},
		"the reason was printed": {"Is the dog barking?", []message.Server{refused}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, stderr := printed(t, tt.prompt, tt.messages)
			require.NoError(t, p.end(client.Stream{ID: "st_1", Livemode: true, EndReason: &reason}))
			require.Equal(t, tt.says, strings.Contains(stderr.String(), "Every answer was indeterminate."), stderr.String())
		})
	}
}

// TestStreamAlone streams without a running server, until the answer is printed and the user interrupts.
func TestStreamAlone(t *testing.T) {
	t.Parallel()
	c := toolConfig(t)
	c.StreamFirstFrame, c.StreamICETimeout = askWait, askWait // the model is slow on a busy machine
	_, clip := fixtureFolder(t)
	ctx, interrupt := context.WithTimeout(t.Context(), askWait)
	defer interrupt()
	out, notices := buffer{until: regexp.MustCompile("YES"), on: interrupt}, buffer{}
	require.NoError(t, runStream(ctx, c, streamOptions{loop: true}, clip, fixture.Prompt, &out, &notices), notices.String())
	require.Regexp(t, `(?s)^    0:\d\d\.\d  .*YES  \w+ \(0\.\d\d\)\n.*\n  ended: completed · billed \d+ s · balance 5,9\d\d s · \S+ · st_\w+\n$`, out.String())
	require.Contains(t, notices.String(), "starting one for this command")
	require.Contains(t, notices.String(), "live; end the stream with Ctrl-C")
	require.False(t, client.New(c.PublicURL).Healthy(t.Context()), "the server ended with the command")

	for source, want := range map[string]string{"missing.mp4": "no such file", t.TempDir(): "not a regular file", "rtsp://127.0.0.1:1/x": "no end"} {
		require.ErrorContains(t, runStream(t.Context(), c, streamOptions{loop: true}, source, fixture.Prompt, &out, &notices), want)
	}
}
