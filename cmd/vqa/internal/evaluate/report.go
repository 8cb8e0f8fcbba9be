package evaluate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vqa/cmd/vqa/internal/terminal"
)

// Report is what `vqa eval --json` prints.
type Report struct {
	// Total counts all questions, Supported the questions of supported forms, and Later the others.
	Total     FormScore `json:"total"`
	Supported FormScore `json:"supported"`
	Later     FormScore `json:"later"`
	// AnsweredNo counts the answers `no` to questions of any form.
	AnsweredNo FormScore `json:"answered_no"`
	// SurelyWrong counts the answers that are not right with a confidence above 0.9.
	SurelyWrong int         `json:"surely_wrong"`
	Forms       []FormScore `json:"forms"`
	Calibration Reliability `json:"calibration"`
	Outcomes    []Outcome   `json:"outcomes"`
}

// Bounds are the limits that all questions together must keep; nil means no limit.
type Bounds struct{ MinRight, MinOverlap, MaxECE, MinRightNo *float64 }

// NewReport counts the outcomes of an evaluation.
func NewReport(outcomes []Outcome) Report {
	supported := func(o Outcome) bool { return slices.Contains(supportedForms, o.Form) }
	r := Report{
		Total:       tally("total", outcomes, func(Outcome) bool { return true }),
		Supported:   tally("supported", outcomes, supported),
		Later:       tally("later", outcomes, func(o Outcome) bool { return !supported(o) }),
		AnsweredNo:  tally("answered no", outcomes, func(o Outcome) bool { return o.Got == "no" }),
		Forms:       score(outcomes),
		Calibration: reliabilityOf(outcomes),
		Outcomes:    outcomes,
	}
	r.Supported.Supported = true
	for _, o := range outcomes {
		if !o.Right && o.Confidence > .9 {
			r.SurelyWrong++
		}
	}
	return r
}

// Missed returns an error that names the bounds that the evaluation misses. A value that could not
// be measured misses its bound.
func (r Report) Missed(b Bounds) error {
	var misses []string
	check := func(name string, bound, got *float64, most bool) {
		switch {
		case bound == nil:
		case got == nil:
			misses = append(misses, name+" could not be measured")
		case most && *got > *bound:
			misses = append(misses, fmt.Sprintf("%s %.3f is above %.3f", name, *got, *bound))
		case !most && *got < *bound:
			misses = append(misses, fmt.Sprintf("%s %.3f is below %.3f", name, *got, *bound))
		}
	}
	share := r.Total.share()
	check("share of right answers", b.MinRight, &share, false)
	var rightNo *float64
	if r.AnsweredNo.Asked > 0 {
		rightNo = new(r.AnsweredNo.share())
	}
	check("share of right no answers", b.MinRightNo, rightNo, false)
	check("mean overlap", b.MinOverlap, r.Total.MeanOverlap, false)
	check("calibration error", b.MaxECE, r.Calibration.ECE, true)
	if len(misses) == 0 {
		return nil
	}
	return errors.New(strings.Join(misses, "; "))
}

// Print writes the report as tables.
func (r Report) Print(out terminal.Screen) {
	t := terminal.Table{{"FORM", "RIGHT", "OF", "SHARE", "OVERLAP"}}
	add := func(s FormScore) {
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
	printCalibration(out, r)
	printMisses(out, r.Outcomes, "Missed", func(o Outcome) bool { return slices.Contains(supportedForms, o.Form) })
	printMisses(out, r.Outcomes, "Later forms", func(o Outcome) bool { return !slices.Contains(supportedForms, o.Form) })
}

// printCalibration prints the calibration error, if any question was answered.
func printCalibration(out terminal.Screen, r Report) {
	c := r.Calibration
	if c.ECE == nil {
		return
	}
	fmt.Fprintf(out, "\n  calibration error  %.3f over %d answers", *c.ECE, c.Answered)
	if c.Undecided > 0 {
		fmt.Fprintf(out, "; %d undecided answers are not counted", c.Undecided)
	}
	fmt.Fprintf(out, "\n  wrong above 0.9    %d\n", r.SurelyWrong)
}

func overlapText(iou *float64) string {
	if iou == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *iou)
}

// printMisses lists the questions without a right answer for which belongs is true.
func printMisses(out terminal.Screen, outcomes []Outcome, title string, belongs func(Outcome) bool) {
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

// answered describes the answer with its confidence, or the reason why there is none.
func (o Outcome) answered() string {
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
