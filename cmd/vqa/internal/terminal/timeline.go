package terminal

import (
	"fmt"
	"math"
	"strings"
)

// Interval is an interval of a video in seconds.
type Interval struct{ From, To float64 }

// tickSteps are the possible distances between two marks of a scale, in seconds.
var tickSteps = []float64{.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200}

// leastTickCells is the smallest distance between two marks, in columns.
const leastTickCells = 12

// Timeline draws the intervals of a video as a row of blocks, cells columns wide, with a scale
// below it. Each interval fills at least one cell.
func Timeline(intervals []Interval, durationS float64, cells int) (bar, scale string) {
	if !(durationS > 0) || cells < 1 {
		return "", ""
	}
	cell := durationS / float64(cells)
	filled := make([]bool, cells)
	for _, s := range intervals {
		// A cell is filled when the interval covers its middle.
		first := int(math.Ceil(s.From/cell - .5))
		last := int(math.Ceil(s.To/cell-.5)) - 1
		if last < first {
			first = int(math.Floor((s.From + s.To) / 2 / cell))
			last = first
		}
		for i := min(max(first, 0), cells-1); i <= min(last, cells-1); i++ {
			filled[i] = true
		}
	}
	var row strings.Builder
	for _, f := range filled {
		if f {
			row.WriteRune('█')
		} else {
			row.WriteRune('░')
		}
	}
	return row.String(), ruler(durationS, cells)
}

// sparks are the heights of a series.
var sparks = []rune(" ▁▂▃▄▅▆▇█")

// Sparks draws a series of numbers from 0 to 1 over a video as a row of bars, cells columns wide. A cell
// shows the largest number in its time, and one without any continues the cell before.
func Sparks(times, series []float64, durationS float64, cells int) string {
	if !(durationS > 0) || cells < 1 {
		return ""
	}
	highest := make([]float64, cells)
	seen := make([]bool, cells)
	for i, at := range times {
		c := min(max(int(at/durationS*float64(cells)), 0), cells-1)
		highest[c], seen[c] = max(highest[c], series[i]), true
	}
	row := make([]rune, cells)
	for c := range row {
		if !seen[c] && c > 0 {
			highest[c] = highest[c-1]
		}
		row[c] = sparks[int(math.Round(min(max(highest[c], 0), 1)*float64(len(sparks)-1)))]
	}
	return string(row)
}

// ruler draws the scale below a row of cells.
func ruler(durationS float64, cells int) string {
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if s/durationS*float64(cells) >= leastTickCells {
			step = s
			break
		}
	}
	row := []rune(strings.Repeat(" ", cells))
	for k := 0; float64(k)*step < durationS; k++ {
		at := float64(k) * step
		mark := []rune("╵" + tickTime(at, step))
		if i := int(math.Round(at / durationS * float64(cells))); i+len(mark) <= cells {
			copy(row[i:], mark)
		}
	}
	return strings.TrimRight(string(row), " ")
}

// tickTime formats the time of a mark, with tenths only when the scale has them.
func tickTime(atS, stepS float64) string {
	if stepS < 1 {
		return ClockTime(atS)
	}
	return strings.TrimSuffix(ClockTime(atS), ".0")
}

// ClockTime formats a time in a video as m:ss.s or h:mm:ss.s.
func ClockTime(s float64) string {
	tenths := int64(math.Round(s * 10))
	h, m, t := tenths/36000, tenths/600%60, tenths%600
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d.%d", h, m, t/10, t%10)
	}
	return fmt.Sprintf("%d:%02d.%d", m, t/10, t%10)
}
