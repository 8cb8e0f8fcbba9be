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

// Escaper is the writer of every subcommand. It replaces each character that could control a
// terminal or hide text with \uXXXX. Without it, a name or a prompt could move the cursor,
// overwrite earlier output or reverse the reading order.
//
// JSON writes these characters in the same way, so escaped JSON keeps its meaning. Line feeds and
// tabs pass; a single value goes through Printable first. An Escaper is safe for concurrent use.
type Escaper struct {
	mu sync.Mutex
	to io.Writer
	// rest holds the first bytes of a character until its last byte is written.
	rest []byte
}

// Escape returns an Escaper that writes to w, or w itself when it is one.
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

// paintMark follows the ESC in the sequences of Paint, and the Escaper removes it. It is random, so
// other text cannot contain it.
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

// steers reports whether a terminal acts on a character, or whether it changes how the text around
// it is read. These are C0, C1, DEL, and Unicode's direction, zero-width, format and separator
// characters.
func steers(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// escaped writes a character as JSON does. A character outside the Basic Multilingual Plane becomes
// a surrogate pair.
func escaped(r rune) string {
	if r < 0x10000 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}

// Printable escapes a value that is part of a line: line feeds and tabs too.
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
