package artifact

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"path/filepath"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/handlers/intake/ffmpeg"
)

// Input is the answer to draw, and the video it is about.
type Input struct {
	Source ffmpeg.Source
	// Size is that of the first frame as it is displayed, in pixels; zero when unknown.
	Size image.Point
	// FPS is the rate of the source in frames per second; 0 when unknown.
	FPS float64
	// Question is the prompt as it is shown to people.
	Question string
	// Intent is what the question asks for.
	Intent query.Intent
	Result answer.Result
	// Evidence holds the detections and the length of the video.
	Evidence evidence.Evidence
	// Terms are the nouns of the question.
	Terms []string
	// Calibration holds the thresholds and the probability of a score.
	Calibration answer.Calibration
}

// Files are the paths of the files that Render wrote.
type Files struct {
	// Video is the annotated MP4, or empty when there is nothing to show.
	Video string
	// Sheet is the contact sheet, a PNG, or empty when there are no clips.
	Sheet string
}

const (
	// maxFPS is the highest rate of an annotated video. Of a faster source, every second frame
	// is shown, or every third, and so on.
	maxFPS = 30.0
	// usualFPS is assumed for a source of unknown rate.
	usualFPS = 25.0
	// minFPS keeps boxes moving evenly over a source with few frames.
	minFPS = 5.0
)

// Render draws the annotated video and the contact sheet into a folder. It stops ffmpeg when
// ctx ends. After a failure the caller removes the files in the folder.
func Render(ctx context.Context, runner *ffmpeg.Runner, in Input, dir string) (Files, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tracks := tracksOf(in)
	r := &rendering{
		ffmpeg: runner, in: in, intervals: shownIntervals(in.Evidence.DurationS, in.Result.Shown()), fps: rate(in.FPS), path: filepath.Join(dir, "annotated.mp4"),
		tracks: tracks, tiles: tilesOf(in, pointsBySample(tracks)),
	}
	if len(r.intervals) == 0 {
		return Files{}, nil
	}
	if err := r.begin(); err != nil {
		return Files{}, err
	}
	for _, s := range r.intervals {
		if err := r.show(ctx, s); err != nil {
			cancel()
			return Files{}, errors.Join(err, r.abandon())
		}
	}
	if r.encoder == nil {
		return Files{}, errors.New("artifact: the source shows no frame")
	}
	if err := r.encoder.finish(); err != nil {
		return Files{}, err
	}
	files := Files{Video: r.path}
	if slices.ContainsFunc(r.tiles, func(t *tile) bool { return t.taken }) {
		files.Sheet = filepath.Join(dir, "sheet.png")
		return files, writeSheet(in, r.tiles, files.Sheet)
	}
	return files, nil
}

// rate returns the frame rate of the annotated video.
func rate(source float64) float64 {
	if !(source > 0) || math.IsInf(source, 0) {
		return usualFPS
	}
	return max(source/math.Ceil(source/maxFPS), minFPS)
}

// rendering is one run of Render.
type rendering struct {
	ffmpeg    *ffmpeg.Runner
	in        Input
	intervals []interval
	fps       float64
	path      string
	tracks    []track
	tiles     []*tile

	// encoder is set at the first frame.
	encoder *encoder
	style   style
	panel   panel
	// whole is the encoded frame. The parts frame and below share its memory.
	whole, frame, below canvas
}

// show draws one interval of the video.
func (r *rendering) show(ctx context.Context, s interval) error {
	d, err := decode(ctx, r.ffmpeg, r.in.Source, canvasSize(r.in.Size), s, r.fps)
	if err != nil {
		return err
	}
	err = r.frames(ctx, d, s)
	if err != nil {
		// The decoder may be blocked on its output, which is read no further.
		d.process.Kill()
		_ = d.process.Wait()
		return err
	}
	if err := d.process.Wait(); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// frames draws each frame of an interval as it is decoded.
func (r *rendering) frames(ctx context.Context, d *decoder, s interval) error {
	for k := 0; ; k++ {
		area, err := d.next(r.frame)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && r.encoder == nil {
			r.encoder, err = encode(ctx, r.ffmpeg, r.path, r.whole.width, r.whole.height, r.fps)
		}
		if err != nil {
			return err
		}
		r.draw(area, s.startS+float64(k)/r.fps)
		if err := r.encoder.write(r.whole); err != nil {
			return err
		}
	}
}

// begin lays out the output.
func (r *rendering) begin() (err error) {
	size := canvasSize(r.in.Size)
	if r.style, err = styleOf(size.X); err != nil {
		return err
	}
	r.panel = newPanel(r.in, r.style, size.X, r.intervals)
	r.whole = newCanvas(size.X, size.Y+r.panel.still.height)
	r.frame, r.below = r.whole.rows(0, size.Y), r.whole.rows(size.Y, r.whole.height)
	return nil
}

// draw marks the objects at a time in the area of the frame.
func (r *rendering) draw(area image.Rectangle, atS float64) {
	for _, t := range r.tiles {
		if !t.taken && atS >= t.atS-0.5/r.fps && atS < t.clip.EndS {
			t.take(r.frame, area)
		}
	}
	var marks []mark
	for _, t := range r.tracks {
		if now, visible := pointAt(t, atS, r.in.Evidence.IntervalS); visible {
			marks = append(marks, r.in.markOf(now))
		}
	}
	r.style.marks(r.frame, area, marks)
	r.panel.draw(r.below, atS)
}

// abandon stops the encoder after a failure.
func (r *rendering) abandon() error {
	if r.encoder == nil {
		return nil
	}
	// We killed it, so its exit status says nothing. Its messages may explain the failure.
	if refused, ok := errors.AsType[*ffmpeg.ExitError](r.encoder.finish()); ok && refused.Said != "" {
		return refused
	}
	return nil
}
