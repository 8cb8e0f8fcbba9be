package main

import (
	"fmt"
	"strings"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
)

// The edges of confidence in words (api-v1.md, result rule 9).
const (
	reliableFrom = 0.7
	marginalFrom = 0.4
)

// mostClips is how many clips are listed; the timeline shows all.
const mostClips = 24

// reasons explain an indeterminate answer.
var reasons = map[string]string{
	"low_confidence":          "something was seen, but not surely enough",
	"nothing_detected":        "nothing was found, and the model cannot tell whether it is there",
	"unsupported_query_form":  "questions of this form are not answered; ask for example \"Is there a dog?\"",
	"duration_mismatch":       "the length of the video is not known exactly",
	"unsupported_action_term": "this action is not assessed; ask for example \"Is a person walking?\"",
}

// unknownSubject explains an analysis that ended before it began, because the model knows none
// of the subjects.
const unknownSubject = `The model does not know what was asked about, so the video was not analyzed. ` +
	`Ask about what GET /v1/models lists, for example "Is there a dog?".`

// printAnswer draws a completed analysis for a person.
func printAnswer(out terminal.Screen, a client.Analysis) {
	r := a.Result
	headline := answerWord(out, a)
	if a.Prompt != nil {
		headline += "  " + terminal.Printable(*a.Prompt)
	}
	fmt.Fprintf(out, "\n  %s\n", headline)
	for _, part := range explain(a) {
		for _, line := range wrapped(part, out.Columns-len(terminal.Margin)) {
			fmt.Fprintf(out, "%s%s\n", terminal.Margin, line)
		}
	}
	printClips(out, r)
	printNarrative(out, a)
	printArtifacts(out, a)
	fmt.Fprintf(out, "\n  %s\n", out.Paint(terminal.Dim, footing(a)))
	if !a.Livemode {
		fmt.Fprintf(out, "  %s\n", out.Paint(terminal.BoldYellow, "test mode: a canned answer, no evidence about the video"))
	}
}

// answerWord is the answer in one word: of a question for a number, the number.
func answerWord(out terminal.Screen, a client.Analysis) string {
	r := a.Result
	if a.Query.PromptIntent == "count" && r.DetectedCount != nil && r.Answer != "indeterminate" {
		return out.Paint(terminal.BoldGreen, terminal.Thousands(int64(*r.DetectedCount)))
	}
	switch r.Answer {
	case "yes":
		return out.Paint(terminal.BoldGreen, "YES")
	case "no":
		return out.Paint(terminal.BoldRed, "NO")
	default:
		return out.Paint(terminal.BoldYellow, terminal.Printable(strings.ToUpper(r.Answer)))
	}
}

// explain says how sure an answer is and what was counted, or why there is none.
func explain(a client.Analysis) []string {
	r := a.Result
	if r.Answer == "indeterminate" {
		why := "no reason was given"
		if r.IndeterminateReason != nil {
			if why = reasons[*r.IndeterminateReason]; why == "" {
				why = *r.IndeterminateReason
			}
		}
		if r.UnsupportedAction != nil {
			return []string{terminal.Printable(r.UnsupportedAction.Reason), "more        " + terminal.Printable(r.UnsupportedAction.DocsURL)}
		}
		if a.Livemode && a.StartedAt == nil && r.IndeterminateReason != nil && *r.IndeterminateReason == "nothing_detected" {
			why = unknownSubject
		}
		return []string{terminal.Printable(why)}
	}
	lines := []string{fmt.Sprintf("confidence  %s (%.2f)", confidenceWord(r.Confidence), r.Confidence)}
	if r.DetectedCount != nil {
		count := fmt.Sprintf("count       %d at the same time", *r.DetectedCount)
		if len(r.Clips) == 0 && len(r.CountEvidence) > 0 {
			count += ", as marked below"
		}
		lines = append(lines, count)
	}
	return lines
}

// wrapped breaks a text at blanks into lines of at most width characters. A longer word, such
// as a URL, has a line of its own.
func wrapped(text string, width int) []string {
	var lines []string
	for len(text) > 0 {
		cut := len(text)
		if runes := []rune(text); len(runes) > width {
			cut = len(string(runes[:width+1]))
			if blank := strings.LastIndexByte(text[:cut], ' '); blank > 0 {
				cut = blank
			} else if cut = strings.IndexByte(text, ' '); cut < 0 {
				cut = len(text)
			}
		}
		lines, text = append(lines, text[:cut]), strings.TrimPrefix(text[cut:], " ")
	}
	return lines
}

func confidenceWord(p float64) string {
	switch {
	case p >= reliableFrom:
		return "reliable"
	case p >= marginalFrom:
		return "marginal"
	default:
		return "unreliable"
	}
}

// printClips draws the clips over the length of the video and lists them; of a count, which
// has none, the parts in which the number was visible.
func printClips(out terminal.Screen, r *client.Result) {
	clips := r.Clips
	if len(clips) == 0 {
		clips = r.CountEvidence
	}
	if len(clips) == 0 {
		return
	}
	intervals := make([]terminal.Interval, len(clips))
	duration := 0.0
	for i, c := range clips {
		intervals[i] = terminal.Interval{From: c.StartS, To: c.EndS}
		duration = max(duration, c.EndS)
	}
	if r.VideoDurationS != nil {
		duration = *r.VideoDurationS
	}
	bar, scale := terminal.Timeline(intervals, duration, out.Columns-4)
	fmt.Fprintf(out, "\n  %s\n  %s\n\n", out.Paint(terminal.Green, bar), out.Paint(terminal.Dim, scale))
	for i, c := range clips {
		if i == mostClips {
			fmt.Fprintf(out, "  … and %d more; --json prints all\n", len(clips)-mostClips)
			break
		}
		fmt.Fprintf(out, "  %8s – %-8s %s\n", terminal.ClockTime(c.StartS), terminal.ClockTime(c.EndS), out.Paint(terminal.Dim, fmt.Sprintf("%.2f", c.Confidence)))
	}
}

// printNarrative tells what happens in the video, or that it could not be told.
func printNarrative(out terminal.Screen, a client.Analysis) {
	if a.Narrative == nil {
		return
	}
	fmt.Fprintln(out)
	switch a.Narrative.Status {
	case "ready":
		for _, e := range a.Narrative.Entries {
			fmt.Fprintf(out, "  %s  %s\n", out.Paint(terminal.Dim, fmt.Sprintf("%8s", terminal.ClockTime(e.AtS))), terminal.Printable(e.Text))
		}
	case "generating":
		fmt.Fprintf(out, "  the narrative is still being written: vqa show %s\n", a.ID)
	default:
		fmt.Fprintln(out, "  there is no narrative")
	}
}

// printArtifacts says where the pictures of the answer are.
func printArtifacts(out terminal.Screen, a client.Analysis) {
	if a.Artifacts == nil {
		return
	}
	fmt.Fprintf(out, "\n  annotated video  %s\n", terminal.Printable(a.Artifacts.AnnotatedVideoURL))
	if sheet := a.Artifacts.ContactSheetURL; sheet != nil {
		fmt.Fprintf(out, "  contact sheet    %s\n", terminal.Printable(*sheet))
	}
}

// footing says what it cost, and which ids to go on with.
func footing(a client.Analysis) string {
	if a.ID == "" {
		return "nothing was uploaded, nothing is billed"
	}
	parts := []string{"not billed"}
	if a.Usage != nil {
		parts = []string{fmt.Sprintf("billed %s s", terminal.Thousands(a.Usage.BilledSeconds))}
		if a.Usage.CreditBalanceAfter != nil {
			parts = append(parts, fmt.Sprintf("balance %s s", terminal.Thousands(*a.Usage.CreditBalanceAfter)))
		}
	}
	parts = append(parts, a.Model, a.ID)
	if a.VideoID != "" {
		parts = append(parts, a.VideoID)
	}
	return terminal.Printable(strings.Join(parts, " · "))
}
