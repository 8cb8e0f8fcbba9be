package terminal

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

// Screen is where a person reads: a terminal, or a file or pipe in its place.
type Screen struct {
	// Writer escapes what could steer a terminal; see Escaper.
	io.Writer
	// raw is what is drawn on, past the Escaper; nil for Writer.
	raw io.Writer
	// Columns is the width, at least leastColumns.
	Columns int
	// Live is true when lines can be drawn anew, which needs a terminal.
	Live bool
	// Color is true when escape sequences are welcome (https://no-color.org).
	Color bool
}

// NewScreen finds out what w can show.
func NewScreen(w io.Writer) Screen {
	e := Escape(w)
	s := Screen{Writer: e, raw: e.to, Columns: defaultColumns}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Columns = n
	}
	if f, ok := e.to.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.Live = true
		s.Color = os.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.Columns = width
		}
	}
	s.Columns = max(s.Columns, leastColumns)
	return s
}

// Style is the parameter of an SGR escape sequence.
type Style string

const (
	Bold       Style = "1"
	Dim        Style = "2"
	Green      Style = "32"
	BoldGreen  Style = "1;32"
	BoldRed    Style = "1;31"
	BoldYellow Style = "1;33"
)

// drawing is where bars are drawn, which takes control characters. Nothing that is not this
// program's own text goes there.
func (s Screen) drawing() io.Writer {
	if s.raw != nil {
		return s.raw
	}
	return s.Writer
}

// Paint gives text a style where that can be shown. Writer makes escape sequences of it.
func (s Screen) Paint(how Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b" + paintMark + "[" + string(how) + "m" + text + "\x1b" + paintMark + "[0m"
}
