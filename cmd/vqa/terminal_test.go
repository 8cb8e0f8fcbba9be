package main

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
		spans    []span
		duration float64
		cells    int
		bar      string
		scale    string
	}{
		"whole":       {[]span{{0, 10}}, 10, 10, "██████████", "╵0:00"},
		"half":        {[]span{{0, 5}}, 10, 10, "█████░░░░░", "╵0:00"},
		"two":         {[]span{{1, 2}, {8, 10}}, 10, 10, "░█░░░░░░██", "╵0:00"},
		"never lost":  {[]span{{5.01, 5.02}}, 10, 10, "░░░░░█░░░░", "╵0:00"},
		"at the end":  {[]span{{9.99, 10}}, 10, 10, "░░░░░░░░░█", "╵0:00"},
		"beyond":      {[]span{{9, 30}}, 10, 10, "░░░░░░░░░█", "╵0:00"},
		"marks":       {nil, 4, 52, strings.Repeat("░", 52), "╵0:00        ╵0:01        ╵0:02        ╵0:03"},
		"tenths":      {nil, 1, 28, strings.Repeat("░", 28), "╵0:00.0       ╵0:00.5"},
		"no duration": {[]span{{0, 1}}, 0, 10, "", ""},
		"no room":     {[]span{{0, 1}}, 1, 0, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bar, scale := timeline(tt.spans, tt.duration, tt.cells)
			require.Equal(t, tt.bar, bar)
			require.Equal(t, tt.scale, scale)
		})
	}
}

func TestTimelineIsAsWideAsAskedAndShowsEverySpan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Float64Range(0.04, 4*3600).Draw(t, "duration")
		cells := rapid.IntRange(1, 300).Draw(t, "cells")
		from := rapid.Float64Range(0, duration).Draw(t, "from")
		to := rapid.Float64Range(from, duration).Draw(t, "to")
		bar, scale := timeline([]span{{from, to}}, duration, cells)
		if n := utf8.RuneCountInString(bar); n != cells {
			t.Fatalf("%d cells", n)
		}
		if n := utf8.RuneCountInString(scale); n > cells {
			t.Fatalf("a scale of %d cells", n)
		}
		filled := strings.Count(bar, "█")
		want := (to - from) / duration * float64(cells)
		if filled < 1 || float64(filled) > max(want+1, 1) || float64(filled) < want-1 {
			t.Fatalf("%d cells are filled for a span of %.2f", filled, want)
		}
	})
}

func TestClockTime(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]float64{
		"0:00.0": 0, "0:02.3": 2.34, "1:00.0": 59.96, "1:05.0": 65, "59:59.9": 3599.9, "1:00:00.0": 3600, "4:00:01.5": 14401.5,
	} {
		require.Equal(t, want, clockTime(s))
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int64{"0": 0, "999": 999, "1,000": 1000, "-1,234,567": -1234567, "-12": -12} {
		require.Equal(t, want, thousands(n))
	}
	for want, n := range map[string]int64{"0 B": 0, "1023 B": 1023, "1.0 KiB": 1024, "1.7 MiB": 1_780_000, "2.0 GiB": 2 << 30} {
		require.Equal(t, want, byteSize(n))
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns{{"FORM", "RIGHT", "NOTE"}, {"presence", "9", "ä"}, {"count", "-", ""}}.print(screen{Writer: &out})
	require.Equal(t, "  FORM      RIGHT  NOTE\n  presence      9  ä\n  count         -\n", out.String())
}

func TestScreen(t *testing.T) {
	t.Setenv("COLUMNS", "20")
	s := newScreen(&bytes.Buffer{})
	require.Equal(t, leastColumns, s.columns)
	require.False(t, s.live || s.colour, "no terminal")
	require.Equal(t, "x", s.paint(bold, "x"))
	t.Setenv("COLUMNS", "200")
	require.Equal(t, 200, newScreen(&bytes.Buffer{}).columns)
	var out bytes.Buffer
	fmt.Fprint(escaping(&out), screen{colour: true}.paint(bold, "x"))
	require.Equal(t, "\x1b[1mx\x1b[0m", out.String())
}

func TestProgressInLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progressOn(screen{Writer: &out}, "uploading", bytesUnit)
		p.set(0, 4096)
		p.set(2048, 4096) // too soon for another line
		time.Sleep(lineEvery)
		p.set(3072, 4096)
		p.set(1024, 4096) // never backwards
		p.finish()
		p.set(4096, 4096)
		p = progressOn(screen{Writer: &out}, "queued", percentUnit)
		p.set(0, 100)
		p.stage("analyzing")
		p.set(30, 100)
		p.set(31, 100)
		p = progressOn(screen{Writer: &out}, "asking", "questions")
		p.set(0, 8)
		time.Sleep(10 * time.Second)
		p.set(5, 8)
		p.stage("checking")
		p.set(7, 8) // of which nobody knows how long they took
		want := "uploading 4.0 KiB\nuploading 75% of 4.0 KiB\nqueued\nanalyzing 25%\nasking 0% of 8 questions\n" +
			"asking 50% of 8 questions, 0.5 a second, 6s left\nchecking 75% of 8 questions\n"
		require.Empty(t, cmp.Diff(want, out.String()))
	})
}

func TestPlacesInLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progressOn(screen{Writer: &out}, "queued", percentUnit)
		p.queued(4, nil)
		p.queued(3, new(85)) // too soon for another line
		time.Sleep(lineEvery)
		p.queued(3, new(85))
		time.Sleep(lineEvery)
		p.queued(3, new(80)) // the same place
		p.queued(1, new(0))
		p.stage("analyzing")
		p.set(30, 100)
		p.finish()
		p.queued(9, nil)
		want := "queued, place 4\nqueued, place 3, begins in about 1m25s\nqueued, place 1, begins in about 0s\nanalyzing 25%\n"
		require.Empty(t, cmp.Diff(want, out.String()))
	})
}

func TestPlacesOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := progressOn(screen{Writer: &out, columns: leastColumns, live: true}, "waiting", percentUnit)
	p.set(10, 100)
	drawn := out.Len()
	p.queued(2, new(25))
	p.queued(2, new(25)) // says nothing new
	p.queued(1000, new(36000))
	p.stage("analyzing")
	wiped := func(n int) string { return "\r" + strings.Repeat(" ", n) + "\r" }
	const second, last = "  queued, place 2, begins in about 25s", "  queued, place 1000, begins in about 1"
	require.Contains(t, out.String()[drawn:], "\r"+second+wiped(len(second))+"\r"+last+wiped(len(last)))
	require.Len(t, last, leastColumns-1, "it stays in its line")
	require.NotContains(t, out.String(), "\n")
	p.queued(1, nil)
	p.finish()
	require.Contains(t, out.String(), "\r  queued, place 1"+wiped(len("  queued, place 1")), "it is taken away")
}

func TestProgressAsBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := progressOn(screen{Writer: &out, columns: 80, live: true}, "queued", percentUnit)
	p.set(10, 100)
	p.stage("analyzing")
	time.Sleep(2 * redrawEvery)
	p.set(50, 100)
	drawn := out.String()
	require.Contains(t, drawn, "analyzing")
	require.Contains(t, drawn, strings.Repeat("█", 20)+strings.Repeat("░", 20))
	require.NotContains(t, drawn, "\n", "a bar is drawn anew in its line")
	p.set(100, 100)
	p.finish()
	lines := strings.Split(out.String(), "\r")
	require.Empty(t, strings.TrimSpace(lines[len(lines)-1]+lines[len(lines)-2]), "the bar is taken away")
}
