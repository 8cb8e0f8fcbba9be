package query

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Place is a part of the frame, in thirds. An empty field means any.
type Place struct {
	// Column is left, centre, right or "".
	Column string
	// Row is top, middle, bottom or "".
	Row string
}

// framePlaces are the places of the package comment that are thirds of the frame.
var framePlaces = map[string]Place{
	"left": {Column: "left"}, "centre": {Column: "centre"}, "right": {Column: "right"},
	"top": {Row: "top"}, "middle": {Row: "middle"}, "bottom": {Row: "bottom"},
	"top left": {"left", "top"}, "top right": {"right", "top"},
	"bottom left": {"left", "bottom"}, "bottom right": {"right", "bottom"},
}

// Place is the third or the corner of the frame that a location asks for. ok is false for every
// other location.
func (c Condition) Place() (p Place, ok bool) {
	p, ok = framePlaces[c.Value]
	return p, ok && c.Kind == KindLocation
}

// askableColors are the colors in the normal forms of an attribute.
var askableColors = set("black white gray red orange yellow green blue purple pink brown")

// Colors are the colors that can be asked for, in the order of the alphabet.
func Colors() []string { return slices.Sorted(maps.Keys(askableColors)) }

// Garments are the garments whose color can be asked for, by the part of the body that wears them, in the
// order of the alphabet.
func Garments(on BodyPart) []string { return slices.Sorted(maps.Keys(coloredGarments[on])) }

// Colors are the basic colors of the object itself that an attribute asks for. The object must
// have all of them. A dark or light shade counts as its color. ok is false for any other
// attribute.
func (c Condition) Colors() (colors []string, ok bool) {
	if c.Kind != KindAttribute {
		return nil, false
	}
	return readColors(c.Value)
}

func readColors(value string) (colors []string, ok bool) {
	for part := range strings.SplitSeq(value, " and ") {
		part = strings.TrimPrefix(strings.TrimPrefix(part, "dark "), "light ")
		if !askableColors[part] {
			return nil, false
		}
		colors = append(colors, part)
	}
	return colors, true
}

// BodyPart is the part of a body that clothing covers.
type BodyPart string

// The closed list of body parts.
const (
	// WholeBody is covered by a dress. It is also used for a color without a garment.
	WholeBody BodyPart = "whole"
	UpperBody BodyPart = "upper"
	LowerBody BodyPart = "lower"
)

// coloredGarments are the garments that cover most of a body part, so that their color is the
// color of that part.
var coloredGarments = map[BodyPart]map[string]bool{
	WholeBody: set("suit dress uniform robe"),
	UpperBody: set("shirt t-shirt jacket coat sweater hoodie vest blouse jersey top pullover cardigan"),
	LowerBody: set("trousers jeans shorts skirt"),
}

// Worn are the colors of clothing that an attribute asks for, and the body part that wears
// it. ok is false for any other attribute and for clothing without a color. It is also
// false for garments that cover little of a body, such as shoes and hats.
func (c Condition) Worn() (colors []string, on BodyPart, ok bool) {
	value, worn := strings.CutPrefix(c.Value, "wearing ")
	if !worn || c.Kind != KindAttribute {
		return nil, "", false
	}
	on = WholeBody
	if last := strings.LastIndexByte(value, ' '); last >= 0 {
		for part, names := range coloredGarments {
			if names[value[last+1:]] {
				value, on = value[:last], part
				break
			}
		}
	}
	colors, ok = readColors(value)
	return colors, on, ok
}

// Size is how large something is in the frame.
type Size string

// The sizes that a box shows.
const (
	Big   Size = "big"
	Small Size = "small"
)

// Size is the size that an attribute asks for; ok is false for any other attribute.
func (c Condition) Size() (s Size, ok bool) {
	s = Size(c.Value)
	return s, c.Kind == KindAttribute && (s == Big || s == Small)
}

// Window is a part of a video, in seconds; see [Window.Within].
type Window struct {
	from, to timePoint
}

// timePoint is a time in seconds plus a share of the duration.
type timePoint struct{ seconds, share float64 }

const (
	// edgeShare is the share of a video that "at the beginning" and "at the end" mean.
	edgeShare = .2
	// instantS is the distance, in seconds, that the window of an instant reaches to each side.
	instantS = 1
)

var namedWindows = map[string]Window{
	"beginning":   {timePoint{}, timePoint{share: edgeShare}},
	"middle":      {timePoint{share: 1. / 3}, timePoint{share: 2. / 3}},
	"end":         {timePoint{share: 1 - edgeShare}, timePoint{share: 1}},
	"first half":  {timePoint{}, timePoint{share: .5}},
	"second half": {timePoint{share: .5}, timePoint{share: 1}},
	Throughout:    {timePoint{}, timePoint{share: 1}},
}

// Window is the part of the video that a time condition asks for. ok is false when the
// condition is of another kind or is not in a normal form.
func (c Condition) Window() (w Window, ok bool) {
	if c.Kind != KindTime {
		return Window{}, false
	}
	if w, ok = namedWindows[c.Value]; ok {
		return w, true
	}
	rest := strings.TrimSuffix(c.Value, " s")
	if from, to, ok := strings.Cut(rest, " to "); ok {
		a, okA := readSeconds(from)
		b, okB := readSeconds(to)
		return Window{timePoint{seconds: a}, timePoint{seconds: b}}, okA && okB && a < b
	}
	word, number, _ := strings.Cut(rest, " ")
	n, ok := readSeconds(number)
	if !ok {
		return Window{}, false
	}
	switch word {
	case "first", "before":
		w = Window{timePoint{}, timePoint{seconds: n}}
	case "last":
		w = Window{timePoint{seconds: -n, share: 1}, timePoint{share: 1}}
	case "after":
		w = Window{timePoint{seconds: n}, timePoint{share: 1}}
	case "at":
		w = Window{timePoint{seconds: n - instantS}, timePoint{seconds: n + instantS}}
	default:
		return Window{}, false
	}
	return w, true
}

// readSeconds reads "7.5". It also reads "1:05", which a client may write in a query.
func readSeconds(text string) (float64, bool) {
	minutes := 0.0
	if m, rest, ok := strings.Cut(text, ":"); ok {
		n, err := strconv.ParseUint(m, 10, 16)
		if err != nil {
			return 0, false
		}
		minutes, text = float64(n), rest
	}
	n, err := strconv.ParseFloat(text, 64)
	return minutes*60 + n, err == nil && n >= 0 && n <= maxQuantity
}

// Beyond reports whether the window begins at or after the end of a video of durationS seconds.
func (w Window) Beyond(durationS float64) bool {
	return w.from.seconds+w.from.share*durationS >= durationS
}

// Within returns the window in a video of durationS seconds. It ensures 0 <= fromS <= toS <=
// durationS.
func (w Window) Within(durationS float64) (fromS, toS float64) {
	at := func(m timePoint) float64 { return min(max(m.seconds+m.share*durationS, 0), durationS) }
	return at(w.from), at(w.to)
}
