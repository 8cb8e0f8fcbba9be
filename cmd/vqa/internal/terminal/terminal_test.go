package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTimeline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		intervals []Interval
		duration  float64
		cells     int
		bar       string
		scale     string
	}{
		"whole":       {[]Interval{{0, 10}}, 10, 10, "██████████", "╵0:00"},
		"half":        {[]Interval{{0, 5}}, 10, 10, "█████░░░░░", "╵0:00"},
		"two":         {[]Interval{{1, 2}, {8, 10}}, 10, 10, "░█░░░░░░██", "╵0:00"},
		"never lost":  {[]Interval{{5.01, 5.02}}, 10, 10, "░░░░░█░░░░", "╵0:00"},
		"at the end":  {[]Interval{{9.99, 10}}, 10, 10, "░░░░░░░░░█", "╵0:00"},
		"beyond":      {[]Interval{{9, 30}}, 10, 10, "░░░░░░░░░█", "╵0:00"},
		"marks":       {nil, 4, 52, strings.Repeat("░", 52), "╵0:00        ╵0:01        ╵0:02        ╵0:03"},
		"tenths":      {nil, 1, 28, strings.Repeat("░", 28), "╵0:00.0       ╵0:00.5"},
		"no duration": {[]Interval{{0, 1}}, 0, 10, "", ""},
		"no room":     {[]Interval{{0, 1}}, 1, 0, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bar, scale := Timeline(tt.intervals, tt.duration, tt.cells)
			require.Equal(t, tt.bar, bar)
			require.Equal(t, tt.scale, scale)
		})
	}
}

func TestTimelineHasTheWidthAndShowsEveryInterval(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Float64Range(0.04, 4*3600).Draw(t, "duration")
		cells := rapid.IntRange(1, 300).Draw(t, "cells")
		from := rapid.Float64Range(0, duration).Draw(t, "from")
		to := rapid.Float64Range(from, duration).Draw(t, "to")
		bar, scale := Timeline([]Interval{{from, to}}, duration, cells)
		if n := utf8.RuneCountInString(bar); n != cells {
			t.Fatalf("%d cells", n)
		}
		if n := utf8.RuneCountInString(scale); n > cells {
			t.Fatalf("a scale of %d cells", n)
		}
		filled := strings.Count(bar, "█")
		want := (to - from) / duration * float64(cells)
		if filled < 1 || float64(filled) > max(want+1, 1) || float64(filled) < want-1 {
			t.Fatalf("%d cells are filled for an interval of %.2f", filled, want)
		}
	})
}

func TestClockTime(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]float64{
		"0:00.0": 0, "0:02.3": 2.34, "1:00.0": 59.96, "1:05.0": 65, "59:59.9": 3599.9, "1:00:00.0": 3600, "4:00:01.5": 14401.5,
	} {
		require.Equal(t, want, ClockTime(s))
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int64{"0": 0, "999": 999, "1,000": 1000, "-1,234,567": -1234567, "-12": -12} {
		require.Equal(t, want, Thousands(n))
	}
	for want, n := range map[string]int64{"0 B": 0, "1023 B": 1023, "1.0 KiB": 1024, "1.7 MiB": 1_780_000, "2.0 GiB": 2 << 30} {
		require.Equal(t, want, ByteSize(n))
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	Table{{"FORM", "RIGHT", "NOTE"}, {"presence", "9", "ä"}, {"count", "-", ""}}.Print(Screen{Writer: &out})
	require.Equal(t, "  FORM      RIGHT  NOTE\n  presence      9  ä\n  count         -\n", out.String())
}

func TestScreen(t *testing.T) {
	t.Setenv("COLUMNS", "20")
	s := NewScreen(&bytes.Buffer{})
	require.Equal(t, leastColumns, s.Columns)
	require.False(t, s.Live || s.Color, "no terminal")
	require.Equal(t, "x", s.Paint(Bold, "x"))
	t.Setenv("COLUMNS", "200")
	require.Equal(t, 200, NewScreen(&bytes.Buffer{}).Columns)
	var out bytes.Buffer
	fmt.Fprint(Escape(&out), Screen{Color: true}.Paint(Bold, "x"))
	require.Equal(t, "\x1b[1mx\x1b[0m", out.String())
}

func TestProgressInLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progressOn(Screen{Writer: &out}, "uploading", BytesUnit)
		p.Set(0, 4096)
		p.Set(2048, 4096) // too soon for another line
		time.Sleep(lineEvery)
		p.Set(3072, 4096)
		p.Set(1024, 4096) // never backward
		p.Finish()
		p.Set(4096, 4096)
		p = progressOn(Screen{Writer: &out}, "queued", PercentUnit)
		p.Set(0, 100)
		p.Stage("analyzing")
		p.Set(30, 100)
		p.Set(31, 100)
		p = progressOn(Screen{Writer: &out}, "asking", "questions")
		p.Set(0, 8)
		time.Sleep(10 * time.Second)
		p.Set(5, 8)
		p.Stage("checking")
		p.Set(7, 8) // the first count of a stage has no rate
		want := "uploading 4.0 KiB\nuploading 75% of 4.0 KiB\nqueued\nanalyzing 25%\nasking 0% of 8 questions\n" +
			"asking 50% of 8 questions, 0.5 a second, 6s left\nchecking 75% of 8 questions\n"
		require.Empty(t, cmp.Diff(want, out.String()))
	})
}

func TestPlacesInLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progressOn(Screen{Writer: &out}, "queued", PercentUnit)
		p.Queued(4, nil)
		p.Queued(3, new(85)) // too soon for another line
		time.Sleep(lineEvery)
		p.Queued(3, new(85))
		time.Sleep(lineEvery)
		p.Queued(3, new(80)) // the same place
		p.Queued(1, new(0))
		p.Stage("analyzing")
		p.Set(30, 100)
		p.Finish()
		p.Queued(9, nil)
		want := "queued, place 4\nqueued, place 3, starts in about 1m25s\nqueued, place 1, starts in about 0s\nanalyzing 25%\n"
		require.Empty(t, cmp.Diff(want, out.String()))
	})
}

func TestPlacesOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := progressOn(Screen{Writer: &out, Columns: leastColumns, Live: true}, "waiting", PercentUnit)
	p.Set(10, 100)
	drawn := out.Len()
	p.Queued(2, new(25))
	p.Queued(2, new(25)) // the same text
	p.Queued(1000, new(36000))
	p.Stage("analyzing")
	wiped := func(n int) string { return "\r" + strings.Repeat(" ", n) + "\r" }
	const second, last = "  queued, place 2, starts in about 25s", "  queued, place 1000, starts in about 1"
	require.Contains(t, out.String()[drawn:], "\r"+second+wiped(len(second))+"\r"+last+wiped(len(last)))
	require.Len(t, last, leastColumns-1, "the text fits in one line")
	require.NotContains(t, out.String(), "\n")
	p.Queued(1, nil)
	p.Finish()
	require.Contains(t, out.String(), "\r  queued, place 1"+wiped(len("  queued, place 1")), "the text is removed")
}

func TestProgressAsBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := progressOn(Screen{Writer: &out, Columns: 80, Live: true}, "queued", PercentUnit)
	p.Set(10, 100)
	p.Stage("analyzing")
	time.Sleep(2 * redrawEvery)
	p.Set(50, 100)
	drawn := out.String()
	require.Contains(t, drawn, "analyzing")
	require.Contains(t, drawn, strings.Repeat("█", 20)+strings.Repeat("░", 20))
	require.NotContains(t, drawn, "\n", "a bar stays in its line")
	p.Set(100, 100)
	p.Finish()
	lines := strings.Split(out.String(), "\r")
	require.Empty(t, strings.TrimSpace(lines[len(lines)-1]+lines[len(lines)-2]), "the bar is removed")
}

// TestTableFitsTheScreen prints a table that is wider than the screen, one that fits, and an empty one.
func TestTableFitsTheScreen(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	print := func(table Table) string {
		var out bytes.Buffer
		table.Print(NewScreen(&out))
		return out.String()
	}
	require.Equal(t, "  none\n", print(Table{{"ACCOUNT"}}))
	require.Equal(t, "  KEY  N\n  a    1\n", print(Table{{"KEY", "N"}, {"a", "1"}}))
	long := strings.Repeat("x", 30)
	require.Equal(t, "  ACCOUNT  "+long+"\n  N        1\n\n  ACCOUNT  b\n  N        2\n", print(Table{{"ACCOUNT", "SOURCE", "N"}, {long, "", "1"}, {"b", "", "2"}}))
}

func TestSparks(t *testing.T) {
	t.Parallel()
	// Each cell shows the highest number in its second; the fourth has none.
	require.Equal(t, " ▄██▁", Sparks([]float64{0, 1, 1.5, 2, 4}, []float64{0, .2, .5, 1, .1}, 5, 5))
	require.Empty(t, Sparks(nil, nil, 0, 5))
	require.Equal(t, "██", Sparks([]float64{-1, 9}, []float64{3, 1}, 2, 2), "times outside of the video belong to its ends")
}
