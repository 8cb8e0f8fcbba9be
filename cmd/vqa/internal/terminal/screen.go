package terminal

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Widths in columns: of a screen whose width is unknown, and the smallest that is drawn.
const (
	defaultColumns = 80
	leastColumns   = 40
)

// Screen is the output for people: a terminal, a file or a pipe.
type Screen struct {
	// Writer escapes control characters; see Escaper.
	io.Writer
	// raw is the writer below the Escaper, for bars; nil means Writer.
	raw io.Writer
	// Columns is the width, at least leastColumns.
	Columns int
	// measured is false when Columns is only assumed.
	measured bool
	// Live is true when a line can be overwritten, which needs a terminal.
	Live bool
	// Color is true when the output may have colors (https://no-color.org).
	Color bool
}

// NewScreen finds out the width of w, and whether it is a terminal with colors.
func NewScreen(w io.Writer) Screen {
	e := Escape(w)
	s := Screen{Writer: e, raw: e.to, Columns: defaultColumns}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Columns, s.measured = n, true
	}
	if f, ok := e.to.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.Live = true
		s.Color = os.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.Columns, s.measured = width, true
		}
	}
	s.Columns = max(s.Columns, leastColumns)
	return s
}

// Style is the parameter of an SGR escape sequence.
type Style string

// The styles of the output.
const (
	Bold       Style = "1"
	Dim        Style = "2"
	Green      Style = "32"
	BoldGreen  Style = "1;32"
	BoldRed    Style = "1;31"
	BoldYellow Style = "1;33"
)

// drawing returns the writer for bars, which need control characters. Only this program's own text
// is written there.
func (s Screen) drawing() io.Writer {
	if s.raw != nil {
		return s.raw
	}
	return s.Writer
}

// Paint gives text a style when the screen has colors. The Escaper lets these sequences pass.
func (s Screen) Paint(how Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b" + paintMark + "[" + string(how) + "m" + text + "\x1b" + paintMark + "[0m"
}
