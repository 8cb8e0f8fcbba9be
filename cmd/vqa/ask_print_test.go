package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/query"
)

// result is a result with confidence 0.9.
func result(answer string, count *int, clips ...[2]float64) *client.Result {
	r := &client.Result{Answer: answer, DetectedCount: count, Confidence: .9}
	for _, c := range clips {
		r.Clips = append(r.Clips, client.Clip{StartS: c[0], EndS: c[1], Confidence: .9})
	}
	return r
}

func TestPrintAnswer(t *testing.T) {
	t.Parallel()
	prompt, reason, duration, balance := "Is there a dog?", "nothing_detected", 10.0, int64(5990)
	a := client.Analysis{ID: "an_1", Model: "sight-1", Livemode: true, Prompt: &prompt, Result: result("yes", nil, [2]float64{0, 2.5}, [2]float64{5, 10})}
	a.Result.VideoDurationS = &duration
	tests := map[string]struct {
		change func(*client.Analysis)
		want   string
	}{
		"yes": {func(*client.Analysis) {}, `
  YES  Is there a dog?
  confidence  reliable (0.90)

  █████████░░░░░░░░░██████████████████
  ╵0:00             ╵0:05

    0:00.0 – 0:02.5   0.90
    0:05.0 – 0:10.0   0.90

  not billed · sight-1 · an_1
`},
		"no, with a count": {func(a *client.Analysis) {
			a.Result = result("no", new(1))
			a.Result.Confidence = .55
			a.Usage = &struct {
				BilledSeconds      int64  `json:"billed_seconds"`
				CreditBalanceAfter *int64 `json:"credit_balance_after"`
			}{10, &balance}
		}, `
  NO  Is there a dog?
  confidence  marginal (0.55)
  count       1 at the same time

  billed 10 s · balance 5,990 s · sight-1 · an_1
`},
		"a number, with its pictures": {func(a *client.Analysis) {
			a.Result = result("yes", new(3))
			a.Result.CountEvidence, a.Result.VideoDurationS = []client.Clip{{StartS: 2.5, EndS: 5, Confidence: .8}}, &duration
			a.Query.PromptIntent, a.VideoID = "count", "video_1"
			sheet := "http://x/sheet.png"
			a.Artifacts = &struct {
				AnnotatedVideoURL string  `json:"annotated_video_url"`
				ContactSheetURL   *string `json:"contact_sheet_url"`
			}{"http://x/video.mp4", &sheet}
		}, `
  3  Is there a dog?
  confidence  reliable (0.90)
  count       3 at the same time, as
  marked below

  ░░░░░░░░░█████████░░░░░░░░░░░░░░░░░░
  ╵0:00             ╵0:05

    0:02.5 – 0:05.0   0.80

  annotated video  http://x/video.mp4
  contact sheet    http://x/sheet.png

  not billed · sight-1 · an_1 · video_1
`},
		"what others wrote": {func(a *client.Analysis) {
			hostilePrompt := "a\x1b[2J\u202eb\nYES"
			a.Prompt, a.Model = &hostilePrompt, "m\x1b]0;x\x07"
			a.Result = result("no", nil)
		}, `
  NO  a\u001b[2J\u202eb\u000aYES
  confidence  reliable (0.90)

  not billed · m\u001b]0;x\u0007 · an_1
`},
		"a subject that the model does not know": {func(a *client.Analysis) {
			a.Result = result("indeterminate", nil)
			a.Result.IndeterminateReason = &reason
			a.Query.Subjects, a.Suggestions = []query.Subject{{Term: "unicorn"}}, []string{"Is there a horse?", "Is there a dog?"}
		}, `
  INDETERMINATE  Is there a dog?
  The model does not know "unicorn", so
  the video was not analyzed.
  ask instead Is there a horse?
              Is there a dog?

  not billed · sight-1 · an_1
`},
		"undecided, after the video was analyzed": {func(a *client.Analysis) {
			started := time.Unix(0, 0)
			a.StartedAt = &started
			a.Result = result("indeterminate", nil)
			a.Result.IndeterminateReason = &reason
		}, `
  INDETERMINATE  Is there a dog?
  The model found nothing, and it cannot
  rule out that it is there.

  not billed · sight-1 · an_1
`},
		"undecided, in test mode": {func(a *client.Analysis) {
			a.Livemode = false
			a.Result = result("indeterminate", nil)
			a.Result.IndeterminateReason = &reason
		}, `
  INDETERMINATE  Is there a dog?
  The model found nothing, and it cannot
  rule out that it is there.

  not billed · sight-1 · an_1
  test mode: this is a fixed answer; the video was not examined
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := a
			tt.change(&shown)
			var out bytes.Buffer
			printAnswer(terminal.Screen{Writer: &out, Columns: 40}, shown)
			require.Equal(t, tt.want, out.String())
		})
	}
}
