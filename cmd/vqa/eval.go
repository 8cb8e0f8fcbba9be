package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// evalReport is what `vqa eval --json` prints.
type evalReport struct {
	// Total sums up all questions, Supported the forms that are answered today, Later the
	// others.
	Total     formScore `json:"total"`
	Supported formScore `json:"supported"`
	Later     formScore `json:"later"`
	// AnsweredNo sums up what was answered `no`, in any form.
	AnsweredNo  formScore   `json:"answered_no"`
	Forms       []formScore `json:"forms"`
	Calibration reliability `json:"calibration"`
	Outcomes    []outcome   `json:"outcomes"`
}

// bounds are what an evaluation must reach over all its questions; nil asks for nothing.
type bounds struct{ minRight, minOverlap, maxECE, minRightNo *float64 }

func evalCommand() *cobra.Command {
	var server, key, diagram string
	var asJSON bool
	var minRight, minOverlap, maxECE, minRightNo float64
	cmd := &cobra.Command{
		Use:   "eval CLIPS_DIR",
		Short: "Ask the questions of a folder of clips with truth.json and score the answers",
		Long: `Uploads each clip of CLIPS_DIR once and asks every question of its truth.json through the public API.

truth.json is a list of {file, form, question, answer, count, clips}: answer is yes or no, count an integer or
null, clips a list of [start, end] in seconds or null. An answer is right when it is equal and, where the truth
has a count, detected_count is equal too. Overlap is intersection over union of the clips in time.

The row "answered no" has the answers that were no, and how many of them are right.

The calibration error is the expected one over ten bins of confidence. An indeterminate result is not right, and
does not enter the calibration error: it claims nothing.

With --min-right, --min-right-no, --min-overlap or --max-ece the exit status is 1 when all questions together miss a bound.`,
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
			r := report(outcomes)
			if err := printReport(cmd.OutOrStdout(), r, asJSON); err != nil {
				return err
			}
			if diagram != "" {
				if err := saveDiagram(diagram, r.Calibration); err != nil {
					return fmt.Errorf("reliability diagram: %w", err)
				}
				fmt.Fprintln(cmd.ErrOrStderr(), "reliability diagram:", diagram)
			}
			given := func(flag string, value *float64) *float64 {
				if cmd.Flags().Changed(flag) {
					return value
				}
				return nil
			}
			return r.missed(bounds{given("min-right", &minRight), given("min-overlap", &minOverlap), given("max-ece", &maxECE), given("min-right-no", &minRightNo)})
		},
	}
	cmd.Flags().StringVar(&server, "url", "", "base URL of the server")
	cmd.Flags().StringVar(&key, "key", "", "API key (VQA_API_KEY keeps it out of the process list)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&diagram, "reliability", "", "write the reliability diagram into this PNG file")
	cmd.Flags().Float64Var(&minRight, "min-right", 0, "fail below this share of right answers, 0 to 1")
	cmd.Flags().Float64Var(&minRightNo, "min-right-no", 0, "fail below this share of right answers among those that are no, 0 to 1")
	cmd.Flags().Float64Var(&minOverlap, "min-overlap", 0, "fail below this mean overlap of clips, 0 to 1")
	cmd.Flags().Float64Var(&maxECE, "max-ece", 0, "fail above this expected calibration error, 0 to 1")
	return strict(cmd, "CLIPS_DIR")
}

func report(outcomes []outcome) evalReport {
	supported := func(o outcome) bool { return slices.Contains(supportedForms, o.Form) }
	r := evalReport{
		Total:       tally("total", outcomes, func(outcome) bool { return true }),
		Supported:   tally("supported", outcomes, supported),
		Later:       tally("later", outcomes, func(o outcome) bool { return !supported(o) }),
		AnsweredNo:  tally("answered no", outcomes, func(o outcome) bool { return o.Got == "no" }),
		Forms:       score(outcomes),
		Calibration: reliabilityOf(outcomes),
		Outcomes:    outcomes,
	}
	r.Supported.Supported = true
	return r
}

// missed is an error that names the bounds that the evaluation misses; what could not be
// measured misses its bound too.
func (r evalReport) missed(b bounds) error {
	var misses []string
	check := func(name string, bound, got *float64, most bool) {
		switch {
		case bound == nil:
		case got == nil:
			misses = append(misses, name+" could not be measured")
		case most && *got > *bound:
			misses = append(misses, fmt.Sprintf("%s %.3f is over %.3f", name, *got, *bound))
		case !most && *got < *bound:
			misses = append(misses, fmt.Sprintf("%s %.3f is under %.3f", name, *got, *bound))
		}
	}
	share := r.Total.share()
	check("share of right answers", b.minRight, &share, false)
	var rightNo *float64
	if r.AnsweredNo.Asked > 0 {
		rightNo = new(r.AnsweredNo.share())
	}
	check("share of right no answers", b.minRightNo, rightNo, false)
	check("mean overlap", b.minOverlap, r.Total.MeanOverlap, false)
	check("calibration error", b.maxECE, r.Calibration.ECE, true)
	if len(misses) == 0 {
		return nil
	}
	return errors.New(strings.Join(misses, "; "))
}

func printReport(w io.Writer, r evalReport, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(w, r)
	}
	out := terminal.NewScreen(w)
	t := terminal.Table{{"FORM", "RIGHT", "OF", "SHARE", "OVERLAP"}}
	add := func(s formScore) {
		if s.Asked == 0 {
			return
		}
		share := fmt.Sprintf("%.0f%%", 100*s.share())
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
	if r.Later.Asked > 0 {
		add(r.Total)
	}
	add(r.AnsweredNo)
	fmt.Fprintln(out)
	t.Print(out)
	printCalibration(out, r.Calibration)
	printMisses(out, r.Outcomes, "Missed", func(o outcome) bool { return slices.Contains(supportedForms, o.Form) })
	printMisses(out, r.Outcomes, "Later forms", func(o outcome) bool { return !slices.Contains(supportedForms, o.Form) })
	return nil
}

// printCalibration says how far the confidence of the answers can be believed.
func printCalibration(out terminal.Screen, r reliability) {
	if r.ECE == nil {
		return
	}
	fmt.Fprintf(out, "\n  calibration error  %.3f over %d answers", *r.ECE, r.Answered)
	if r.Undecided > 0 {
		fmt.Fprintf(out, "; %d undecided claim nothing", r.Undecided)
	}
	fmt.Fprintln(out)
}

func overlapText(iou *float64) string {
	if iou == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *iou)
}

// printMisses lists the questions that were not answered right.
func printMisses(out terminal.Screen, outcomes []outcome, title string, belongs func(outcome) bool) {
	t := terminal.Table{{"FILE", "QUESTION", "TRUTH", "ANSWERED"}}
	for _, o := range outcomes {
		if !o.Right && belongs(o) {
			t = append(t, []string{o.File, o.Question, answerText(o.Answer, o.Count), o.answered()})
		}
	}
	if len(t) > 1 {
		fmt.Fprintf(out, "\n  %s\n", out.Paint(terminal.Bold, title))
		t.Print(out)
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
