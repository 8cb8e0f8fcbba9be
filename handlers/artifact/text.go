package artifact

import (
	"fmt"
	"image"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// The fonts are part of the program, so the machine needs none.
var parsedFonts = sync.OnceValues(func() ([2]*opentype.Font, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return [2]*opentype.Font{}, err
	}
	bold, err := opentype.Parse(gobold.TTF)
	return [2]*opentype.Font{regular, bold}, err
})

// lettering is a font in one size. It is for one goroutine.
type lettering struct {
	face font.Face
	// ascent and height are those of a line, in pixels.
	ascent, height int
}

// newLettering returns the font for a size in pixels.
func newLettering(bold bool, size int) (lettering, error) {
	fonts, err := parsedFonts()
	if err != nil {
		return lettering{}, fmt.Errorf("artifact: fonts: %w", err)
	}
	parsed := fonts[0]
	if bold {
		parsed = fonts[1]
	}
	// At 72 dots per inch a point is a pixel.
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return lettering{}, fmt.Errorf("artifact: fonts: %w", err)
	}
	m := face.Metrics()
	return lettering{face: face, ascent: m.Ascent.Ceil(), height: m.Ascent.Ceil() + m.Descent.Ceil()}, nil
}

// width returns the width of a text in pixels.
func (l lettering) width(text string) int { return font.MeasureString(l.face, text).Ceil() }

// mask returns a text on one line as a mask.
func (l lettering) mask(text string) *image.Alpha {
	m := image.NewAlpha(image.Rect(0, 0, max(l.width(text), 1), l.height))
	d := font.Drawer{Dst: m, Src: image.Opaque, Face: l.face, Dot: fixed.P(0, l.ascent)}
	d.DrawString(text)
	return m
}

// write draws a text. at is its top left corner.
func (l lettering) write(c canvas, text string, at image.Point, i ink) {
	c.stamp(l.mask(text), at, i)
}

// fit cuts a text to a width.
func (l lettering) fit(text string, width int) string {
	if l.width(text) <= width {
		return text
	}
	letters := []rune(text)
	for len(letters) > 0 && l.width(string(letters)+"…") > width {
		letters = letters[:len(letters)-1]
	}
	return strings.TrimRight(string(letters), " ") + "…"
}

// maxLines is the number of lines for the question.
const maxLines = 2

// wrap breaks a text into at most maxLines lines of a width, and cuts the rest.
func (l lettering) wrap(text string, width int) []string {
	var out []string
	line := ""
	words := strings.Fields(text)
	for i, word := range words {
		longer := strings.TrimSpace(line + " " + word)
		if line == "" || l.width(longer) <= width {
			line = longer
			continue
		}
		if len(out) == maxLines-1 {
			line = strings.Join(append([]string{line}, words[i:]...), " ")
			break
		}
		out, line = append(out, l.fit(line, width)), word
	}
	return append(out, l.fit(line, width))
}

func hypot(x, y float64) float64 { return math.Hypot(x, y) }

// clock formats a time in seconds as 0:07 or 1:02:03.
func clock(s float64) string {
	whole := int(max(s, 0))
	if whole >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
	}
	return fmt.Sprintf("%d:%02d", whole/60, whole%60)
}

// clockTenths formats a time like clock, with tenths of a second.
func clockTenths(s float64) string {
	tenths := int(math.Round(max(s, 0) * 10))
	return fmt.Sprintf("%s.%d", clock(float64(tenths/10)), tenths%10)
}
