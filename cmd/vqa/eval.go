package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// evalReport is what `vqa eval --json` prints.
type evalReport struct {
	// Supported sums up the forms that are answered today, Later the others.
	Supported formScore   `json:"supported"`
	Later     formScore   `json:"later"`
	Forms     []formScore `json:"forms"`
	Outcomes  []outcome   `json:"outcomes"`
}

func evalCommand() *cobra.Command {
	var server, key string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval CLIPS_DIR",
		Short: "Ask the questions of a folder of clips with truth.json and score the answers",
		Long: `Uploads each clip of CLIPS_DIR once and asks every question of its truth.json through the public API.

truth.json is a list of {file, form, question, answer, count, clips}: answer is yes or no, count an integer or
null, clips a list of [start, end] in seconds or null. An answer is right when it is equal and, where the truth
has a count, detected_count is equal too. Overlap is intersection over union of the clips in time.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			questions, err := readTruth(args[0])
			if err != nil {
				return err
			}
			s, err := connect(cmd.Context(), c, server, key, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			outcomes, err := evaluate(cmd.Context(), s, args[0], questions, cmd.ErrOrStderr())
			if err := errors.Join(err, s.Close()); err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), report(outcomes), asJSON)
		},
	}
	cmd.Flags().StringVar(&server, "url", "", "base URL of the server")
	cmd.Flags().StringVar(&key, "key", "", "API key (VQA_API_KEY keeps it out of the process list)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, 1)
}

func report(outcomes []outcome) evalReport {
	supported := func(o outcome) bool { return slices.Contains(supportedForms, o.Form) }
	r := evalReport{
		Supported: tally("supported", outcomes, supported),
		Later:     tally("later", outcomes, func(o outcome) bool { return !supported(o) }),
		Forms:     score(outcomes), Outcomes: outcomes,
	}
	r.Supported.Supported = true
	return r
}

func printReport(w io.Writer, r evalReport, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	out := newScreen(w)
	t := columns{{"FORM", "RIGHT", "OF", "SHARE", "OVERLAP"}}
	add := func(s formScore) {
		if s.Asked == 0 {
			return
		}
		share := fmt.Sprintf("%.0f%%", 100*float64(s.Right)/float64(s.Asked))
		t = append(t, []string{s.Form, strconv.Itoa(s.Right), strconv.Itoa(s.Asked), share, overlapText(s.MeanOverlap)})
	}
	for _, s := range r.Forms {
		if s.Supported {
			add(s)
		}
	}
	add(r.Supported)
	for _, s := range r.Forms {
		if !s.Supported {
			add(s)
		}
	}
	add(r.Later)
	fmt.Fprintln(out)
	t.print(out)
	printMisses(out, r.Outcomes, "Missed", func(o outcome) bool { return slices.Contains(supportedForms, o.Form) })
	printMisses(out, r.Outcomes, "Later forms", func(o outcome) bool { return !slices.Contains(supportedForms, o.Form) })
	return nil
}

func overlapText(iou *float64) string {
	if iou == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *iou)
}

// printMisses lists the questions that were not answered right.
func printMisses(out screen, outcomes []outcome, title string, belongs func(outcome) bool) {
	t := columns{{"FILE", "QUESTION", "TRUTH", "ANSWERED"}}
	for _, o := range outcomes {
		if !o.Right && belongs(o) {
			t = append(t, []string{o.File, o.Question, answerText(o.Answer, o.Count), o.answered()})
		}
	}
	if len(t) > 1 {
		fmt.Fprintf(out, "\n  %s\n", out.paint(bold, title))
		t.print(out)
	}
}

// answered is what was answered, and how surely or why not.
func (o outcome) answered() string {
	switch {
	case o.Failure != "":
		return o.Failure
	case o.Reason != "":
		return o.Got + ", " + o.Reason
	}
	return fmt.Sprintf("%s (%.2f)", answerText(o.Got, o.GotCount), o.Confidence)
}

func answerText(answer string, count *int) string {
	if count == nil {
		return answer
	}
	return strings.TrimSpace(answer + " " + strconv.Itoa(*count))
}
