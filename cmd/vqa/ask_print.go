package main

import (
	"fmt"
	"strconv"
	"strings"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/domain/query"
)

// The limits of the words for confidence (docs/contract.md#result-9).
const (
	reliableFrom = 0.7
	marginalFrom = 0.4
)

// mostClips is the largest number of clips in the list. The timeline shows all.
const mostClips = 24

// reasons explain an indeterminate answer.
var reasons = map[string]string{
	"low_confidence":          "The model found something, but its confidence is too low for an answer.",
	"nothing_detected":        "The model found nothing, and it cannot rule out that it is there.",
	"unsupported_query_form":  "Questions of this form are not supported. Ask for example \"Is there a dog?\".",
	"duration_mismatch":       "The video does not have the time that the question is about, or its length is not the expected one.",
	"unsupported_action_term": "This action is not supported. Ask for example \"Is a person walking?\".",
}

// unknownSubject explains an analysis that ended without examining the video, because no subject of
// the query is a class of the model.
func unknownSubject(a client.Analysis) string {
	var terms []string
	for _, s := range a.Query.Subjects {
		terms = append(terms, strconv.Quote(s.Term))
	}
	return "The model does not know " + strings.Join(terms, " or ") + ", so the video was not analyzed."
}

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
	for i, question := range a.Suggestions {
		label := "            "
		if i == 0 {
			label = "ask instead "
		}
		fmt.Fprintf(out, "%s%s%s\n", terminal.Margin, label, terminal.Printable(question))
	}
	printClips(out, r)
	printNarrative(out, a)
	printArtifacts(out, a)
	fmt.Fprintf(out, "\n  %s\n", out.Paint(terminal.Dim, footing(a)))
	if !a.Livemode {
		fmt.Fprintf(out, "  %s\n", out.Paint(terminal.BoldYellow, "test mode: this is a fixed answer; the video was not examined"))
	}
}

// answerWord is the answer in one word, or the number when the question asks for one.
func answerWord(out terminal.Screen, a client.Analysis) string {
	r := a.Result
	word := strings.ToUpper(answer.Word(query.Intent(a.Query.PromptIntent), answer.Answer(r.Answer), r.DetectedCount))
	switch r.Answer {
	case "yes":
		return out.Paint(terminal.BoldGreen, word)
	case "no":
		return out.Paint(terminal.BoldRed, word)
	default:
		return out.Paint(terminal.BoldYellow, terminal.Printable(word))
	}
}

// explain returns the lines below the answer: the confidence and the count, or the reason for an
// indeterminate answer.
func explain(a client.Analysis) []string {
	r := a.Result
	if r.Answer == "indeterminate" {
		why := "The server gave no reason."
		if r.Undecided != "" {
			why = r.Undecided
		} else if r.IndeterminateReason != nil {
			if why = reasons[*r.IndeterminateReason]; why == "" {
				why = *r.IndeterminateReason
			}
		}
		if r.UnsupportedAction != nil {
			return []string{terminal.Printable(r.UnsupportedAction.Reason), "more        " + terminal.Printable(r.UnsupportedAction.DocsURL)}
		}
		if a.Livemode && a.StartedAt == nil && r.IndeterminateReason != nil && *r.IndeterminateReason == "nothing_detected" {
			why = unknownSubject(a)
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

// wrapped breaks a text at spaces into lines of at most width characters. A longer word, for example
// a URL, gets its own line.
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

// printClips draws a timeline of the clips and lists them. A count has no clips; then it shows the
// intervals in which the number was visible.
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

// printNarrative writes the narrative, or why there is none.
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
		fmt.Fprintln(out, "  the narrative could not be written")
	}
}

// printArtifacts writes the URLs of the annotated video and of the contact sheet.
func printArtifacts(out terminal.Screen, a client.Analysis) {
	if a.Artifacts == nil {
		return
	}
	fmt.Fprintf(out, "\n  annotated video  %s\n", terminal.Printable(a.Artifacts.AnnotatedVideoURL))
	if sheet := a.Artifacts.ContactSheetURL; sheet != nil {
		fmt.Fprintf(out, "  contact sheet    %s\n", terminal.Printable(*sheet))
	}
}

// footing states the charge, and the ids for further commands.
func footing(a client.Analysis) string {
	if a.ID == "" {
		return "nothing was uploaded or billed"
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
