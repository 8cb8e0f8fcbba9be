package main

import (
	"fmt"
	"math"
	"strings"
)

// span is a part of a video in seconds.
type span struct{ from, to float64 }

// tickSteps are the distances, in seconds, that marks on a scale may have.
var tickSteps = []float64{.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200}

// leastTickCells is how far apart marks must be to be read.
const leastTickCells = 12

// timeline draws where in a video of the given duration the spans lie, in cells
// columns: a row of blocks and a scale below it. A span is never drawn as nothing.
func timeline(spans []span, durationS float64, cells int) (bar, scale string) {
	if !(durationS > 0) || cells < 1 {
		return "", ""
	}
	cell := durationS / float64(cells)
	filled := make([]bool, cells)
	for _, s := range spans {
		// A cell is filled when the span covers its middle.
		first := int(math.Ceil(s.from/cell - .5))
		last := int(math.Ceil(s.to/cell-.5)) - 1
		if last < first {
			first = int(math.Floor((s.from + s.to) / 2 / cell))
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

// ruler marks time below a row of cells.
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

// tickTime leaves out tenths where the scale has none.
func tickTime(atS, stepS float64) string {
	if stepS < 1 {
		return clockTime(atS)
	}
	return strings.TrimSuffix(clockTime(atS), ".0")
}

// clockTime is a time in a video, m:ss.s or h:mm:ss.s.
func clockTime(s float64) string {
	tenths := int64(math.Round(s * 10))
	h, m, t := tenths/36000, tenths/600%60, tenths%600
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d.%d", h, m, t/10, t%10)
	}
	return fmt.Sprintf("%d:%02d.%d", m, t/10, t%10)
}
