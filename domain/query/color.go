package query

import "strings"

// colorNames maps words for colors to the eleven basic colors, some with a shade. A color
// between two of these maps to itself.
var colorNames = map[string]string{
	"black": "black", "white": "white", "gray": "gray", "red": "red", "orange": "orange", "yellow": "yellow",
	"green": "green", "blue": "blue", "purple": "purple", "pink": "pink", "brown": "brown",
	"grey": "gray", "silver": "gray", "violet": "purple", "lilac": "light purple", "lavender": "light purple",
	"gold": "yellow", "golden": "yellow", "navy": "dark blue", "maroon": "dark red", "crimson": "red", "scarlet": "red",
	"beige": "light brown", "tan": "light brown", "ivory": "white", "magenta": "pink", "lime": "light green",
	"cyan": "cyan", "turquoise": "turquoise", "teal": "teal", "cream": "cream",
}

var colorWords = func() map[string]bool {
	out := set("colorful colourful multicolored multicoloured dark-colored light-colored dark-coloured light-coloured")
	for w := range colorNames {
		out[w] = true
		for _, ending := range []string{"-colored", "-coloured", "ish"} {
			out[w+ending] = true
		}
	}
	out["reddish"] = true
	return out
}()

// shades are the words in front of a color. A word with the value "" is dropped.
var shades = map[string]string{
	"dark": "dark ", "deep": "dark ", "light": "light ", "pale": "light ", "bright": "", "vivid": "", "very": "", "quite": "",
	"solid": "", "completely": "", "mostly": "", "all": "",
}

// colorName is the normal form of one color word.
func colorName(w string) string {
	if name, ok := colorNames[w]; ok {
		return name
	}
	for _, ending := range []string{"-colored", "-coloured", "ish"} {
		if n := len(w) - len(ending); n > 0 && w[n:] == ending {
			if name, ok := colorNames[w[:n]]; ok {
				return name
			}
		}
	}
	if w == "reddish" {
		return "red"
	}
	return w
}

// oneColorAt reads "dark blue", "navy", "red coloured".
func oneColorAt(ts words, i int) (string, int) {
	j, shade := i, ""
	for {
		s, ok := shades[ts.at(j)]
		if !ok || !colorWords[ts.at(j+1)] && shades[ts.at(j+1)] == "" {
			break
		}
		if s != "" {
			shade = s
		}
		j++
	}
	if !colorWords[ts.at(j)] {
		return "", 0
	}
	name := colorName(ts.at(j))
	if shade != "" {
		name = shade + name[strings.LastIndexByte(name, ' ')+1:]
	}
	j++
	if w := ts.at(j); w == "colored" || w == "coloured" || strings.HasSuffix(" "+name, " "+colorNames[w]) && colorNames[w] != "" {
		// "red coloured", "navy blue"
		j++
	}
	return name, j - i
}

// colorsAt reads one color, or two that belong together: "black and white".
func colorsAt(ts words, i int) (string, int) {
	a, n := oneColorAt(ts, i)
	if n == 0 {
		return "", 0
	}
	j := i + n
	if ts.at(j) == "and" || ts.at(j) == "&" {
		if b, m := oneColorAt(ts, j+1); m > 0 && b != a {
			return a + " and " + b, n + 1 + m
		}
	}
	return a, n
}

// colorChoiceAt reads alternatives of colors, "red, blue or dark green"; n is 0 for anything
// else.
func colorChoiceAt(ts words, i int) (values []string, n int) {
	either := false
	for j, op := i, All; ; {
		value, m := colorsAt(ts, j)
		if m == 0 {
			break
		}
		values, n, either = append(values, value), j+m-i, either || op == Any
		op, m = conjunctionAt(ts, i+n)
		if m == 0 || op == All && (either || ts.at(i+n) != ",") {
			break
		}
		if j = i + n + m; ts.at(j) == "a" || ts.at(j) == "an" {
			j++
		}
	}
	if !either {
		return nil, 0
	}
	return values, n
}

// ofColorAt reads "of red colour" and "of colour red" at i as the color alone; n is 0 for
// anything else.
func ofColorAt(ts words, i int) (color words, n int) {
	named := func(i int) bool { return ts.at(i) == "color" || ts.at(i) == "colour" }
	if ts.at(i) != "of" {
		return nil, 0
	}
	if _, n := colorsAt(ts, i+2); n > 0 && named(i+1) {
		return ts[i+2 : i+2+n], 2 + n
	}
	if _, n := colorsAt(ts, i+1); n > 0 && named(i+1+n) {
		return ts[i+1 : i+1+n], 2 + n
	}
	return nil, 0
}

// sizes are the words for a size relative to the frame.
var sizes = table(`
	big: big large huge giant enormous massive gigantic sizable
	small: small tiny little miniature minuscule
`)

// attributeName is the normal form of an attribute of one word.
func attributeName(w string) string {
	if size, ok := sizes[w]; ok {
		return size
	}
	if colorWords[w] {
		return colorName(w)
	}
	return w
}
