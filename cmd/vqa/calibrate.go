package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/calibrate"
	"vqa/cmd/vqa/internal/evaluate"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/query/vocabulary"
)

// evidenceFolder is in the data folder and holds what the engine reported about labeled clips.
const evidenceFolder = "evidence"

// labeled are the flags of commands that fit a calibration.
type labeled struct{ evidence, labels string }

func (l *labeled) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.labels, "labels", "", "JSON file that lists all classes in some of the clips")
}

func calibrateCommand() *cobra.Command {
	var l labeled
	var output string
	cmd := &cobra.Command{
		Use:   "calibrate CLIPS_DIR",
		Short: "Fit the calibration of the configured engine to labeled clips",
		Long: `Examines the clips of CLIPS_DIR with the configured engine, fits the parameters that turn its scores into
probabilities to CLIPS_DIR/truth.json, and writes them to a file for VQA_CALIBRATION_FILE. No server is
needed. What the engine reports is kept, so that a second fit takes seconds.

truth.json is that of vqa eval. A question with the answer no says that a class is absent, one with clips
says when it is shown. --labels names a JSON object of {"present": [classes], "unclear": [classes]} by
file. Every other class of the engine is absent in that file. Without such a list, few absent classes are
known, and the calibration believes weak detections.

The figures leave out each clip in turn: its classes are judged by a fit to the other clips. Half of the
classes that people ask about are absent, so present and absent classes count alike.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			questions, err := evaluate.ReadTruth(args[0])
			if err != nil {
				return err
			}
			fitted, err := l.fit(cmd, args[0], questions)
			if err != nil {
				return err
			}
			path := cmp.Or(output, fitted.Weights+".json")
			if err := writeParameters(path, fitted); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "calibration:", path)
			return show(cmd, fitted.Figures, func(s terminal.Screen, f calibrate.Figures) {
				f.Print(s)
				fitted.Report.Print(s)
			})
		},
	}
	l.flags(cmd)
	cmd.Flags().StringVar(&l.evidence, "evidence", "", "keep what the engine reports in this folder; the default is in VQA_DATA_DIR")
	cmd.Flags().StringVar(&output, "output", "", "write the calibration to this file; the default is the name of the weights with .json")
	return printing(cmd, "CLIPS_DIR")
}

// fit examines the clips and fits the calibration of the engine.
func (l labeled) fit(cmd *cobra.Command, dir string, questions []evaluate.Case) (fitted calibrate.Fitted, err error) {
	c, err := loadConfig()
	if err != nil {
		return fitted, err
	}
	clips := calibrate.Clips{Questions: questions}
	if l.labels != "" {
		if clips.Labels, err = calibrate.ReadLabels(l.labels); err != nil {
			return fitted, err
		}
	}
	folder := cmp.Or(l.evidence, filepath.Join(c.DataDir, evidenceFolder))
	seen, info, err := c.examineClips(cmd.Context(), dir, folder, 0, evaluate.Clips(questions), cmd.ErrOrStderr())
	if err != nil {
		return fitted, err
	}
	if len(info.Vocabulary) == 0 {
		return fitted, errors.New("the engine does not report its classes. Only an engine with a list of classes can be calibrated")
	}
	clips.Seen, clips.Vocabulary = seen, vocabulary.Of(info.Vocabulary)
	prior, err := calibrate.Prior(info.Weights)
	if err != nil {
		return fitted, err
	}
	if fitted, err = calibrate.Fit(clips, prior); err != nil {
		return fitted, err
	}
	return fitted, calibrate.Choose(clips, &fitted)
}

// writeParameters writes the document of a calibration.
func writeParameters(path string, fitted calibrate.Fitted) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(file)
	enc.SetIndent("", "  ")
	return errors.Join(enc.Encode(fitted.Parameters), file.Close())
}
