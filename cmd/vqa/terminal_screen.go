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
	// Writer escapes what could steer a terminal; see escaper.
	io.Writer
	// raw is what is drawn on, past the escaper; nil for Writer.
	raw io.Writer
	// columns is the width, at least leastColumns.
	columns int
	// live is true when lines can be drawn anew, which needs a terminal.
	live bool
	// colour is true when escape sequences are welcome (https://no-color.org).
	colour bool
}

// newScreen finds out what w can show.
func newScreen(w io.Writer) screen {
	e := escaping(w)
	s := screen{Writer: e, raw: e.to, columns: defaultColumns}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.columns = n
	}
	if f, ok := e.to.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
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

// drawing is where bars are drawn, which takes control characters. Nothing that is not this
// program's own text goes there.
func (s screen) drawing() io.Writer {
	if s.raw != nil {
		return s.raw
	}
	return s.Writer
}

// paint gives text a style where that can be shown. Writer makes escape sequences of it.
func (s screen) paint(how style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b" + paintMark + "[" + string(how) + "m" + text + "\x1b" + paintMark + "[0m"
}
