package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Widths in columns: what is assumed when nobody says, and the least that is drawn.
const (
	defaultColumns = 80
	leastColumns   = 40
)

// screen is where a person reads: a terminal, or a file or pipe in its place.
type screen struct {
	io.Writer
	// columns is the width, at least leastColumns.
	columns int
	// live is true when lines can be drawn anew, which needs a terminal.
	live bool
	// colour is true when escape sequences are welcome (https://no-color.org).
	colour bool
}

// newScreen finds out what w can show.
func newScreen(w io.Writer) screen {
	s := screen{Writer: w, columns: defaultColumns}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.columns = n
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.live = true
		s.colour = os.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.columns = width
		}
	}
	s.columns = max(s.columns, leastColumns)
	return s
}

// style is the parameter of an SGR escape sequence.
type style string

const (
	bold       style = "1"
	dim        style = "2"
	green      style = "32"
	boldGreen  style = "1;32"
	boldRed    style = "1;31"
	boldYellow style = "1;33"
)

// paint gives text a style where that can be shown.
func (s screen) paint(how style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + string(how) + "m" + text + "\x1b[0m"
}
