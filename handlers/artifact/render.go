package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/handlers/intake/ffmpeg"
)

// Input is what is drawn.
type Input struct {
	// Source is a path, or an http or https URL.
	Source string
	// FPS is the rate of the source in pictures per second; 0 when unknown.
	FPS float64
	// Question is what was asked, for people.
	Question string
	Result   answer.Result
	// Evidence is what was seen, and how long the video is.
	Evidence evidence.Evidence
	// Classes are those of Evidence.Terms that the question is about.
	Classes []string
	// Calibration says which detections count, and how probable they are.
	Calibration answer.Calibration
}

// Files are what Render made, by their paths.
type Files struct {
	// Video is the annotated MP4, or empty when there is nothing to show.
	Video string
	// Sheet is the contact sheet, a PNG, or empty when there are no clips.
	Sheet string
}

const (
	// maxFPS is the highest rate of an annotated video; what is faster shows every second
	// picture, or fewer.
	maxFPS = 30.0
	// usualFPS is that of a source that does not tell its own.
	usualFPS = 25.0
	// minFPS keeps boxes moving evenly over a source of single pictures.
	minFPS = 5.0
)

// Render draws the annotated video and the contact sheet into a folder. It ends ffmpeg
// when ctx ends, and leaves files of a failed try for the caller to remove.
func Render(ctx context.Context, runner *ffmpeg.Runner, in Input, dir string) (Files, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tracks := tracksOf(in)
	r := &rendering{
		ffmpeg: runner, in: in, spans: spansOf(in.Evidence.DurationS, in.Result.Shown()), fps: rate(in.FPS), path: filepath.Join(dir, "annotated.mp4"),
		tracks: tracks, tiles: tilesOf(in, sightsOf(tracks)),
	}
	if len(r.spans) == 0 {
		return Files{}, nil
	}
	for _, s := range r.spans {
		if err := r.show(ctx, s); err != nil {
			cancel()
			return Files{}, errors.Join(err, r.abandon())
		}
	}
	if r.encoder == nil {
		return Files{}, errors.New("artifact: the source shows no picture")
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

// rate is that of the annotated video.
func rate(source float64) float64 {
	if !(source > 0) || math.IsInf(source, 0) {
		return usualFPS
	}
	return max(source/math.Ceil(source/maxFPS), minFPS)
}

// rendering is one run of Render.
type rendering struct {
	ffmpeg *ffmpeg.Runner
	in     Input
	spans  []span
	fps    float64
	path   string
	tracks []answer.Track
	tiles  []*tile

	// From the first picture on:
	encoder *encoder
	style   style
	panel   panel
	// whole is what is encoded; picture and below are its parts.
	whole, picture, below canvas
}

// show draws one span.
func (r *rendering) show(ctx context.Context, s span) error {
	d, err := decode(ctx, r.ffmpeg, r.in.Source, s, r.fps)
	if err != nil {
		return err
	}
	err = r.pictures(ctx, d, s)
	if err != nil {
		// The decoder may wait for a reader that is gone.
		d.process.Kill()
		_ = d.process.Wait()
		return err
	}
	if err := d.process.Wait(); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// pictures draws each picture of a span as it comes.
func (r *rendering) pictures(ctx context.Context, d *decoder, s span) error {
	if err := d.header(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	if err := r.begin(ctx, d); err != nil {
		return err
	}
	for k := 0; ; k++ {
		err := d.next(r.picture)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		atS := s.startS + float64(k)/r.fps
		r.draw(atS)
		if err := r.encoder.write(r.whole); err != nil {
			return err
		}
	}
}

// begin lays everything out when the size of the pictures is known.
func (r *rendering) begin(ctx context.Context, d *decoder) error {
	if r.encoder != nil {
		if d.width != r.picture.width || d.height != r.picture.height {
			return fmt.Errorf("artifact: pictures of %dx%d after %dx%d", d.width, d.height, r.picture.width, r.picture.height)
		}
		return nil
	}
	var err error
	if r.style, err = styleOf(d.width); err != nil {
		return err
	}
	r.panel = newPanel(r.in, r.style, d.width, r.spans)
	r.whole = newCanvas(d.width, d.height+r.panel.still.height)
	r.picture, r.below = r.whole.rows(0, d.height), r.whole.rows(d.height, r.whole.height)
	r.encoder, err = encode(ctx, r.ffmpeg, r.path, r.whole.width, r.whole.height, r.fps)
	return err
}

// draw marks what is seen at a time.
func (r *rendering) draw(atS float64) {
	for _, t := range r.tiles {
		if !t.taken && atS >= t.atS-0.5/r.fps && atS < t.clip.EndS {
			t.take(r.picture)
		}
	}
	var marks []mark
	for _, t := range r.tracks {
		if now, seen := sightAt(t, atS, r.in.Evidence.IntervalS); seen {
			marks = append(marks, r.in.markOf(now))
		}
	}
	r.style.marks(r.picture, r.picture.bounds(), marks)
	r.panel.draw(r.below, atS)
}

// abandon ends the encoder of a try that failed.
func (r *rendering) abandon() error {
	if r.encoder == nil {
		return nil
	}
	// That it was killed is our doing; what it said before that explains the failure.
	if refused, ok := errors.AsType[*ffmpeg.ExitError](r.encoder.finish()); ok && refused.Said != "" {
		return refused
	}
	return nil
}
