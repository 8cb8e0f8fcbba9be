package artifact

import (
	"cmp"
	"fmt"
	"image"
	"image/png"
	"os"
	"slices"

	"vqa/domain/answer"
)

const (
	// maxTiles is the number of clips on a contact sheet.
	maxTiles = 12
	// tileSide is the longer side of a tile, in pixels.
	tileSide = 440
)

// tile is one clip of a contact sheet, or one interval with the evidence of a count.
type tile struct {
	clip answer.Clip
	// atS is the time of the best frame. objects are marked in it.
	atS     float64
	objects []point
	frame   canvas
	// area is the part of frame that the video fills.
	area  image.Rectangle
	taken bool
}

// tilesOf chooses the clips with the highest confidence, in order of time. For each it chooses
// the sample with the most probable object.
func tilesOf(in Input, samples [][]point) []*tile {
	clips := slices.Clone(in.Result.Shown())
	if len(clips) > maxTiles {
		slices.SortStableFunc(clips, func(a, b answer.Clip) int { return cmp.Compare(b.Confidence, a.Confidence) })
		clips = clips[:maxTiles]
		slices.SortFunc(clips, func(a, b answer.Clip) int { return cmp.Compare(a.StartS, b.StartS) })
	}
	tiles := make([]*tile, len(clips))
	for i, c := range clips {
		tiles[i] = &tile{clip: c, atS: (c.StartS + c.EndS) / 2}
		best := 0.0
		for _, points := range samples {
			if top := points[0]; top.p > best && top.atS >= c.StartS && top.atS < c.EndS {
				best, tiles[i].atS, tiles[i].objects = top.p, top.atS, points
			}
		}
	}
	return tiles
}

// take keeps a small copy of a frame.
func (t *tile) take(frame canvas, area image.Rectangle) {
	scale := float64(tileSide) / float64(max(frame.width, frame.height))
	shrunk := func(p image.Point) image.Point { return image.Pt(int(float64(p.X)*scale), int(float64(p.Y)*scale)) }
	t.area = image.Rectangle{shrunk(area.Min), shrunk(area.Max)}
	even := func(n int) int { return max(int(float64(n)*scale)&^1, 2) }
	t.frame = newCanvas(even(frame.width), even(frame.height))
	t.frame.place(frame, t.frame.bounds())
	t.taken = true
}

// writeSheet lays out the tiles below the question and its answer, and writes a PNG. It leaves
// out clips for which the annotated video has no room.
func writeSheet(in Input, tiles []*tile, path string) error {
	tiles = slices.DeleteFunc(slices.Clone(tiles), func(t *tile) bool { return !t.taken })
	if len(tiles) == 0 {
		return nil
	}
	columns := 1
	for columns < 4 && columns*columns < len(tiles) {
		columns++
	}
	s, err := styleOf(tileSide * 2)
	if err != nil {
		return err
	}
	size := image.Pt(tiles[0].frame.width, tiles[0].frame.height)
	step := size.Add(image.Pt(s.pad, s.pad+s.regular.height+s.pad))
	step = image.Pt(step.X&^1, step.Y&^1)
	width := columns*step.X + s.pad
	head := newHead(in, s, width)
	rows := (len(tiles) + columns - 1) / columns
	sheet := newCanvas(width&^1, (head.height+rows*step.Y+1)&^1)
	sheet.fill(sheet.bounds(), background, opaque)
	sheet.rows(0, head.height).copyFrom(head)
	for i, t := range tiles {
		at := image.Pt(s.pad+i%columns*step.X, head.height+i/columns*step.Y)
		area := image.Rectangle{at, at.Add(size)}
		sheet.place(t.frame, area)
		marks := make([]mark, len(t.objects))
		for i, o := range t.objects {
			marks[i] = in.markOf(o)
		}
		s.marks(sheet, t.area.Add(at), marks)
		below := image.Pt(at.X, area.Max.Y+s.pad/3)
		times := fmt.Sprintf("%s – %s", clockTenths(t.clip.StartS), clockTenths(t.clip.EndS))
		s.bold.write(sheet, times, below, bright)
		sure := fmt.Sprintf("%.0f%%", 100*t.clip.Confidence)
		s.regular.write(sheet, sure, image.Pt(area.Max.X-s.regular.width(sure), below.Y), dim)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if err := png.Encode(file, sheet.image()); err != nil {
		_ = file.Close() // the first error says more
		return fmt.Errorf("artifact: contact sheet: %w", err)
	}
	return file.Close()
}

// newHead returns the panel without its timeline.
func newHead(in Input, s style, width int) canvas {
	p := newPanel(in, s, width&^1, []interval{{0, in.Evidence.DurationS}})
	return p.still.rows(0, (p.bar.Min.Y-s.pad/3)&^1)
}
