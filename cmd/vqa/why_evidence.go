package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/jobs"
	"vqa/handlers/survey"
)

// explain reads what the answer of an analysis rests on.
func (a *app) explain(ctx context.Context, analysisID string) (_ jobs.Explained, err error) {
	if !id.Valid(id.Analysis, analysisID) {
		return jobs.Explained{}, fmt.Errorf("--evidence needs the id of an analysis (an_…), not %q", analysisID)
	}
	state, v, err := a.commands.AnalysisWithVideo(ctx, analysisID)
	if err != nil {
		return jobs.Explained{}, err
	}
	if !state.Exists() {
		return jobs.Explained{}, fmt.Errorf("there is no analysis %s", analysisID)
	}
	key, err := keyFile(a.config.DataDir, secretKeyFile)
	if err != nil {
		return jobs.Explained{}, fmt.Errorf("reading the secret key of the installation: %w", err)
	}
	store, err := a.config.openObjects(ctx, key, a.log)
	if err != nil {
		return jobs.Explained{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	calibrations, err := readCalibrations(a.config.CalibrationFile)
	if err != nil {
		return jobs.Explained{}, err
	}
	explained, err := jobs.Explainer{Surveys: survey.Store{Objects: store}, Calibrations: calibrations}.Explain(ctx, state, v)
	var f *fault.Fault
	if errors.As(err, &f) {
		return explained, errors.New(f.Message)
	}
	return explained, err
}

// printEvidence draws the series of the statements and lists the objects.
func printEvidence(s terminal.Screen, x jobs.Explained) {
	fmt.Fprintf(s, "%s\n%s  %s, confidence %.2f\n", s.Paint(terminal.Bold, terminal.Printable(x.Question)), s.Paint(terminal.Dim, x.AnalysisID), x.RecordedAnswer, x.RecordedConfidence)
	if x.RecordedAnswer != x.Answer || x.RecordedConfidence != x.Confidence {
		fmt.Fprintf(s, "The detector alone gives %s, confidence %.2f: a vision model answered, or the calibration was changed.\n", x.Answer, x.Confidence)
	}
	fmt.Fprintf(s, "\n%s\n", terminal.Printable(x.Ruling.Text))
	if len(x.Times) == 0 {
		return
	}
	end := x.Times[len(x.Times)-1] + 1e-3
	cells := min(max(s.Columns/2, 20), 60)
	parts := terminal.Table{{"PART", "BEST", "AT", "0:00" + fmt.Sprintf("%*s", cells-4, terminal.ClockTime(end))}}
	for i, p := range x.Statements {
		text := strings.Repeat("  ", p.Depth) + p.Text
		if i == x.Ruling.Statement {
			text += " ◀"
		}
		parts = append(parts, []string{text, probability(p.Best.Probability), span(p.Best.StartS, p.Best.EndS), terminal.Sparks(x.Times, p.Series, end, cells)})
	}
	fmt.Fprintln(s)
	parts.Print(s)
	objects := terminal.Table{{"OBJECT", "SEEN", "FRAMES", "SCORE", "PROBABLE", "FITS"}}
	for _, thing := range x.Things {
		for _, track := range thing.Tracks {
			score, p, fit := 0., 0., 0.
			for _, b := range track {
				score, p, fit = max(score, b.Score), max(p, b.Probability), max(fit, b.Fit)
			}
			objects = append(objects, []string{
				thing.Text, span(x.Times[track[0].Frame], x.Times[track[len(track)-1].Frame]), fmt.Sprint(len(track)), probability(score), probability(p), probability(fit),
			})
		}
		if thing.Omitted > 0 {
			objects = append(objects, []string{thing.Text, counted(int64(thing.Omitted), "more track"), "", "", "", ""})
		}
	}
	fmt.Fprintln(s)
	objects.Print(s)
	fmt.Fprintf(s, "\n%s of the video were examined; the parameters are those of %s.\n", counted(int64(x.Frames), "frame"), terminal.Printable(x.Parameters.Weights))
}

func probability(p float64) string { return fmt.Sprintf("%.2f", p) }

func span(from, to float64) string { return fmt.Sprintf("%.1f–%.1f s", from, to) }
