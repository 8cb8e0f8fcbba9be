package evaluate

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Size and colors of the diagram.
const (
	diagramSize = 16 * vg.Centimeter
	diagramDPI  = 150
)

var (
	barColor      = color.RGBA{R: 0x9e, G: 0xbe, B: 0xdd, A: 0xff}
	meanColor     = color.RGBA{R: 0xe4, G: 0x57, B: 0x56, A: 0xff}
	intervalColor = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
	idealColor    = color.RGBA{R: 0x55, G: 0x55, B: 0x55, A: 0xff}
)

// SaveDiagram writes the reliability diagram to a PNG file. It creates the file's folder.
func SaveDiagram(path string, r Reliability) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(drawDiagram(file, r), file.Close())
}

// drawDiagram draws the share of right answers over their confidence. Each bin is a bar with the
// number of its answers and the 95% interval of the true share. A dot marks the bin's mean
// confidence, and a dashed line marks perfect calibration.
func drawDiagram(w io.Writer, r Reliability) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Reliability of %d answers", r.Answered)
	if r.ECE != nil {
		p.Title.Text += fmt.Sprintf(": expected calibration error %.3f", *r.ECE)
	}
	if r.Undecided > 0 {
		p.Title.Text += fmt.Sprintf("\n%d undecided answers are not counted", r.Undecided)
	}
	p.Title.Padding = vg.Millimeter * 3
	p.X.Label.Text, p.Y.Label.Text = "confidence of the answer", "share of right answers"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1.34 // the legend stands over the bars
	p.X.Tick.Marker, p.Y.Tick.Marker = tenths{}, tenths{}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.Padding = vg.Millimeter*3, vg.Millimeter
	ideal, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return err
	}
	ideal.Color, ideal.Dashes = idealColor, []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(plotter.NewGrid())
	p.Legend.Add("perfect calibration", ideal)
	if err := addBins(p, r.Bins); err != nil {
		return err
	}
	p.Add(ideal)
	canvas := vgimg.NewWith(vgimg.UseWH(diagramSize, diagramSize), vgimg.UseDPI(diagramDPI))
	p.Draw(draw.New(canvas))
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// addBins draws the bins that are not empty.
func addBins(p *plot.Plot, bins []Bin) error {
	const gap = .008 // beside each bar
	var means plotter.XYs
	var labels plotter.XYLabels
	for _, b := range bins {
		if b.Count == 0 {
			continue
		}
		share, middle := b.shareRight(), (b.From+b.To)/2
		low, high := b.interval()
		bar, err := plotter.NewPolygon(plotter.XYs{{X: b.From + gap, Y: 0}, {X: b.From + gap, Y: share}, {X: b.To - gap, Y: share}, {X: b.To - gap, Y: 0}})
		if err != nil {
			return err
		}
		bar.Color, bar.LineStyle.Color = barColor, barColor
		whisker, err := plotter.NewLine(plotter.XYs{{X: middle, Y: low}, {X: middle, Y: high}})
		if err != nil {
			return err
		}
		whisker.Color, whisker.Width = intervalColor, vg.Points(1.5)
		if len(means) == 0 {
			p.Legend.Add("share of right answers", bar)
			p.Legend.Add("95% interval of the true share", whisker)
		}
		p.Add(bar, whisker)
		means = append(means, plotter.XY{X: b.MeanConfidence, Y: b.MeanConfidence})
		labels.XYs = append(labels.XYs, plotter.XY{X: middle, Y: max(share, high) + .01})
		labels.Labels = append(labels.Labels, fmt.Sprintf("%d of %d", b.Right, b.Count))
	}
	if len(means) == 0 {
		return nil
	}
	dots, err := plotter.NewScatter(means)
	if err != nil {
		return err
	}
	dots.Color, dots.Shape, dots.Radius = meanColor, draw.CircleGlyph{}, vg.Points(3.5)
	counts, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range counts.TextStyle {
		counts.TextStyle[i].XAlign, counts.TextStyle[i].YAlign = text.XCenter, text.YBottom
	}
	p.Legend.Add("mean confidence of the bin", dots)
	p.Add(dots, counts)
	return nil
}

// tenths puts marks on an axis from 0 to 1.
type tenths struct{}

// Ticks implements plot.Ticker.
func (tenths) Ticks(_, _ float64) []plot.Tick {
	ticks := make([]plot.Tick, 0, binCount+1)
	for i := range binCount + 1 {
		ticks = append(ticks, plot.Tick{Value: float64(i) / binCount, Label: fmt.Sprintf("%.1f", float64(i)/binCount)})
	}
	return ticks
}
