package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/gpu"
)

const (
	// modelsWait bounds how long an engine may take to load, answer and be measured.
	modelsWait = 2 * time.Minute
	// speedTime is how long the speed of an engine is measured.
	speedTime = 2 * time.Second
)

// listedModel is a model in the output of vqa models. Empty fields are not known.
type listedModel struct {
	Model   string `json:"model"`
	Use     string `json:"use"`
	Program string `json:"program"`
	Digest  string `json:"digest"`
	License string `json:"license"`
	// Vocabulary lists the terms that the model knows; nil: any.
	Vocabulary []string `json:"vocabulary"`
	// Quality is nil when no calibration of the model records it.
	Quality *answer.Quality `json:"quality"`
	// FramesPerSecond is nil when it was not measured.
	FramesPerSecond *float64 `json:"frames_per_second"`
}

func modelsCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "models",
		Short: "List the configured models with their license, vocabulary, quality and speed",
		Long: `Lists the detector, and the vision model if VQA_VLM_URL names one. Without VQA_INFERENCE_URL the
embedded worker is started for a moment, also beside a running service.

The quality is what vqa calibrate recorded in the model's calibration: how often a present class of the
labeled clips is more probable than an absent one (AUC). The speed is measured now, for 2 s, in frames of 640 by 360 pixels. Other work of the engine
makes it lower.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), modelsWait)
			defer cancel()
			detector, err := c.detectorModel(ctx)
			if err != nil {
				return err
			}
			all := []listedModel{detector}
			if c.VLMURL != "" {
				all = append(all, listedModel{Model: c.VLMModel, Use: "vision"})
			}
			return show(cmd, all, terminal.List(listedModel.cells, "MODEL", "USE", "PROGRAM", "LICENSE", "VOCABULARY", "QUALITY", "FRAMES/S"))
		},
	})
}

func (m listedModel) cells() []string {
	const unknown, unmeasured = "not reported", "not measured"
	row := []string{m.Model, m.Use, m.Program, m.License, "any term", unmeasured, unmeasured}
	for i, cell := range row {
		if cell == "" {
			row[i] = unknown
		}
	}
	if m.Vocabulary != nil {
		row[4] = fmt.Sprintf("%d terms", len(m.Vocabulary))
	}
	if q := m.Quality; q != nil {
		row[5] = fmt.Sprintf("AUC %.3f of %d present and %d absent classes", q.AUC, q.Present, q.Absent)
	}
	if m.FramesPerSecond != nil {
		row[6] = strconv.FormatFloat(*m.FramesPerSecond, 'f', 1, 64)
	}
	return row
}

// detectorModel asks and measures the configured engine.
func (c config) detectorModel(ctx context.Context) (listedModel, error) {
	engine, err := c.engine(ctx)
	if err != nil {
		return listedModel{}, err
	}
	defer engine.Close()
	info, err := engine.Info(ctx)
	if err != nil {
		return listedModel{}, err
	}
	speed, err := framesPerSecond(ctx, engine, info)
	if err != nil {
		return listedModel{}, err
	}
	return listedModel{
		Model: info.Weights, Use: "detector", Program: info.Worker, Digest: info.Digest, License: info.License,
		Vocabulary: info.Vocabulary, Quality: engine.Calibrations.For(info.Weights, info.Vocabulary).Quality, FramesPerSecond: &speed,
	}, nil
}

// framesPerSecond measures the speed of an engine with one request at a time, which keeps it busy. The
// first request is not counted: it loads the model.
func framesPerSecond(ctx context.Context, engine gpu.Engine, info gpu.Info) (float64, error) {
	frame, err := testFrame()
	if err != nil {
		return 0, err
	}
	req := gpu.Request{Frames: slices.Repeat([][]byte{frame}, min(gpu.MaxFrames, 2*info.Concurrency)), Terms: []string{"person"}}
	if len(info.Vocabulary) > 0 {
		req.Terms = info.Vocabulary[:1]
	}
	if _, err := engine.Detect(ctx, req); err != nil {
		return 0, err
	}
	began, count := time.Now(), 0
	for time.Since(began) < speedTime {
		if _, err := engine.Detect(ctx, req); err != nil {
			return 0, err
		}
		count += len(req.Frames)
	}
	return float64(count) / time.Since(began).Seconds(), nil
}

// testFrame is a JPEG file with as much detail as a frame of a video.
func testFrame() ([]byte, error) {
	frame := image.NewRGBA(image.Rect(0, 0, 640, 360))
	for y := range 360 {
		for x := range 640 {
			frame.SetRGBA(x, y, color.RGBA{R: uint8(x*x>>10 + y), G: uint8(x ^ y), B: uint8(x*y>>8 + x), A: 255}) //nolint:gosec // wraps around
		}
	}
	var file bytes.Buffer
	err := jpeg.Encode(&file, frame, nil)
	return file.Bytes(), err
}
