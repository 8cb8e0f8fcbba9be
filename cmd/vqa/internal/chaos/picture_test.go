package chaos_test

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

var (
	servedColor  = color.RGBA{R: 0x2b, G: 0x6c, B: 0xa3, A: 0xff}
	refusedColor = color.RGBA{R: 0xe4, G: 0x57, B: 0x56, A: 0xff}
	faultColor   = color.RGBA{R: 0x55, G: 0x55, B: 0x55, A: 0xff}
)

// draw writes a picture: served and other requests per second over the time, and the faults as bars
// below them.
func (s summary) draw(path string) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "seconds", "requests per second"
	p.Legend.Top = true
	good, bad := map[int]float64{}, map[int]float64{}
	last, most := 0, 0.0
	for _, f := range s.spells {
		last = max(last, int(f.healed.Sub(s.began).Seconds())+1)
	}
	for _, sample := range s.r.samples {
		second := int(sample.ended.Sub(s.began).Seconds())
		if second >= last {
			continue // a request of the judge
		}
		most = max(most, good[second]+1)
		if sample.outcome == served {
			good[second]++
		} else {
			bad[second]++
		}
	}
	for i, counts := range []map[int]float64{good, bad} {
		var points plotter.XYs
		for second := range last {
			points = append(points, plotter.XY{X: float64(second), Y: counts[second]})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color = []color.Color{servedColor, refusedColor}[i]
		p.Add(line)
		p.Legend.Add([]string{"served", "refused or lost"}[i], line)
	}
	for i, f := range s.spells {
		y := -most / 12 * float64(1+i%3)
		from, to := f.began.Sub(s.began).Seconds(), f.healed.Sub(s.began).Seconds()
		bar, err := plotter.NewLine(plotter.XYs{{X: from, Y: y}, {X: to, Y: y}})
		if err != nil {
			return err
		}
		bar.Color, bar.Width = faultColor, vg.Millimeter*1.5
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: from, Y: y - most/16}}, Labels: []string{f.kind.String()}})
		if err != nil {
			return err
		}
		for i := range label.TextStyle {
			label.TextStyle[i].Font.Size = vg.Points(7)
		}
		p.Add(bar, label)
	}
	return p.Save(26*vg.Centimeter, 11*vg.Centimeter, path)
}
