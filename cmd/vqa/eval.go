package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
)

func evalCommand() *cobra.Command {
	var server, key, diagram string
	var l labeled
	var leaveOut bool
	var minRight, minOverlap, maxECE, minRightNo float64
	cmd := &cobra.Command{
		Use:   "eval CLIPS_DIR",
		Short: "Ask the questions of a folder of clips and score the answers",
		Long: `Uploads each clip of CLIPS_DIR once and asks every question of CLIPS_DIR/truth.json through the public
API.

truth.json is a list of {file, form, question, answer, count, clips}: answer is yes or no, count an
integer or null, clips a list of [start, end] in seconds or null. An answer is right when it equals the
true answer and, if the truth has a count, detected_count equals the true count. Overlap is the
intersection over union of the clips in time.

The row "answered no" counts the answers that are no, and how many of them are right.

The calibration error is the expected calibration error over ten bins of confidence. An indeterminate
result counts as not right. It is left out of the calibration error, because it has no confidence.

With --evidence, the clips are examined without a server, by ffmpeg and the configured engine. What the
engine reports is kept in that folder in a file for each clip and for each model, so that a second
evaluation takes seconds. The answers follow the same rules. With --leave-out, the engine is calibrated as by
vqa calibrate, and each question is answered with a fit to the other clips.

With --min-right, --min-right-no, --min-overlap or --max-ece, the exit status is 1 when all questions
together miss a limit.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			questions, err := evaluate.ReadTruth(args[0])
			if err != nil {
				return err
			}
			ask := func() ([]evaluate.Outcome, error) { return askServer(cmd, server, key, args[0], questions) }
			switch {
			case leaveOut:
				ask = func() ([]evaluate.Outcome, error) {
					fitted, err := l.fit(cmd, args[0], questions)
					return fitted.Report.Outcomes, err
				}
			case l.evidence != "":
				ask = func() ([]evaluate.Outcome, error) { return askEvidence(cmd, args[0], l.evidence, questions) }
			}
			outcomes, err := ask()
			if err != nil {
				return err
			}
			r := evaluate.NewReport(outcomes)
			if err := show(cmd, r, func(s terminal.Screen, r evaluate.Report) { r.Print(s) }); err != nil {
				return err
			}
			if diagram != "" {
				if err := evaluate.SaveDiagram(diagram, r.Calibration); err != nil {
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
			return r.Missed(evaluate.Bounds{
				MinRight: given("min-right", &minRight), MinRightNo: given("min-right-no", &minRightNo),
				MinOverlap: given("min-overlap", &minOverlap), MaxECE: given("max-ece", &maxECE),
			})
		},
	}
	cmd.Flags().StringVar(&server, "url", "", "base URL of the server")
	cmd.Flags().StringVar(&key, "key", "", "API key (VQA_API_KEY keeps it out of the process list)")
	cmd.Flags().StringVar(&l.evidence, "evidence", "", "answer from what the engine reports, kept in this folder, without a server")
	cmd.Flags().BoolVar(&leaveOut, "leave-out", false, "answer each question with a calibration that was fitted without its clip")
	l.flags(cmd)
	cmd.Flags().StringVar(&diagram, "reliability", "", "write the reliability diagram to this PNG file")
	cmd.Flags().Float64Var(&minRight, "min-right", 0, "fail below this share of right answers, 0 to 1")
	cmd.Flags().Float64Var(&minRightNo, "min-right-no", 0, "fail below this share of right answers among the answers no, 0 to 1")
	cmd.Flags().Float64Var(&minOverlap, "min-overlap", 0, "fail below this mean overlap of clips, 0 to 1")
	cmd.Flags().Float64Var(&maxECE, "max-ece", 0, "fail above this expected calibration error, 0 to 1")
	return printing(cmd, "CLIPS_DIR")
}

// askServer asks through the public API.
func askServer(cmd *cobra.Command, server, key, dir string, questions []evaluate.Case) ([]evaluate.Outcome, error) {
	c, err := locatedConfig(server, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	s, err := connect(cmd.Context(), c, server, key, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	outcomes, err := evaluate.Run(cmd.Context(), s.evaluation(dir, cmd.ErrOrStderr()), questions)
	return outcomes, errors.Join(err, s.Close())
}

// askEvidence answers from the evidence in a folder, and examines the clips that have none.
func askEvidence(cmd *cobra.Command, dir, folder string, questions []evaluate.Case) ([]evaluate.Outcome, error) {
	c, err := loadConfig()
	if err != nil {
		return nil, err
	}
	calibrations, err := readCalibrations(c.CalibrationFile)
	if err != nil {
		return nil, err
	}
	seen, info, err := c.examineClips(cmd.Context(), dir, folder, 0, evaluate.Clips(questions), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	cal := calibrations.For(info.Weights, info.Vocabulary)
	return evaluate.Ask(seen, questions, func(string) answer.Calibration { return cal })
}

// evaluation returns the options for an evaluation of the clips in dir.
func (s *session) evaluation(dir string, notices io.Writer) evaluate.Options {
	return evaluate.Options{
		Client: s.Client, Dir: dir, Unfinished: s.config.MaxConcurrentAnalyses, Ready: s.awaitReady, Notices: notices,
	}
}
