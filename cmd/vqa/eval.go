package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/evaluate"
)

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
			questions, err := evaluate.ReadTruth(args[0])
			if err != nil {
				return err
			}
			s, err := connect(cmd.Context(), c, server, key, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			outcomes, err := evaluate.Run(cmd.Context(), s.evaluation(args[0], cmd.ErrOrStderr()), questions)
			if err := errors.Join(err, s.Close()); err != nil {
				return err
			}
			r := evaluate.NewReport(outcomes)
			if err := r.Print(cmd.OutOrStdout(), asJSON); err != nil {
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&diagram, "reliability", "", "write the reliability diagram into this PNG file")
	cmd.Flags().Float64Var(&minRight, "min-right", 0, "fail below this share of right answers, 0 to 1")
	cmd.Flags().Float64Var(&minRightNo, "min-right-no", 0, "fail below this share of right answers among those that are no, 0 to 1")
	cmd.Flags().Float64Var(&minOverlap, "min-overlap", 0, "fail below this mean overlap of clips, 0 to 1")
	cmd.Flags().Float64Var(&maxECE, "max-ece", 0, "fail above this expected calibration error, 0 to 1")
	return strict(cmd, "CLIPS_DIR")
}

// evaluation returns what an evaluation of the clips of a folder works with.
func (s *session) evaluation(dir string, notices io.Writer) evaluate.Options {
	return evaluate.Options{
		Client: s.Client, Dir: dir, Unfinished: s.config.MaxConcurrentAnalyses, Ready: s.awaitReady, Notices: notices,
	}
}
