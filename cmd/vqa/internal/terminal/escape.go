package terminal

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Escaper is the one writer through which every subcommand prints. It replaces the
// characters that could steer a terminal or hide text with \uXXXX, so that a name or a
// prompt cannot move the cursor, change what was printed or read in another order. That is
// also how JSON spells them, so JSON stays the same document. Line feeds and tabs pass:
// single values go through Printable first. It is safe for concurrent use.
type Escaper struct {
	mu sync.Mutex
	to io.Writer
	// rest is the beginning of a character whose end was not written yet.
	rest []byte
}

// Escape returns w as an Escaper.
func Escape(w io.Writer) *Escaper {
	if e, ok := w.(*Escaper); ok {
		return e
	}
	return &Escaper{to: w}
}

// Raw returns the writer below an Escaper when a file or a program reads it, which needs the
// exact bytes. It returns the Escaper when a terminal reads it.
func Raw(w io.Writer) io.Writer {
	e := Escape(w)
	if f, ok := e.to.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return e
	}
	return e.to
}

// paintMark follows the ESC of the sequences that paint makes. It is random, so that no
// text from elsewhere can hold it; the Escaper removes it.
var paintMark = rand.Text()

// Write implements io.Writer.
func (e *Escaper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := append(e.rest, p...)
	e.rest = nil
	var out strings.Builder
	out.Grow(len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(text):
			e.rest = append([]byte(nil), text...)
			size = len(text)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\x1b' && strings.HasPrefix(string(text[1:min(len(text), 1+len(paintMark))]), paintMark):
			out.WriteByte('\x1b')
			size += len(paintMark)
		case r != '\n' && r != '\t' && steers(r):
			out.WriteString(escaped(r))
		default:
			out.Write(text[:size])
		}
		text = text[size:]
	}
	if _, err := io.WriteString(e.to, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// steers reports a character that a terminal acts upon, or that changes how the text
// around it reads: C0, C1, DEL, and the direction, zero-width, format and separator
// characters of Unicode.
func steers(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// escaped spells a character as JSON does: outside the Basic Multilingual Plane as a
// surrogate pair.
func escaped(r rune) string {
	if r < 0x10000 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}

// Printable is a value as a part of one line: its line feeds and tabs are escaped too.
func Printable(text string) string {
	if !strings.ContainsFunc(text, steers) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch _, size := utf8.DecodeRuneInString(text[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case steers(r):
			out.WriteString(escaped(r))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
