package query

import (
	"slices"
	"strconv"
	"strings"
)

// namedWindowWords are phrases for a named part of a video.
var namedWindowWords = table(`
	beginning: at_the_beginning in_the_beginning at_the_start at_first at_the_very_beginning at_the_very_start initially near_the_beginning near_the_start towards_the_beginning towards_the_start toward_the_beginning toward_the_start when_the_video_starts when_the_video_begins when_the_clip_starts when_the_clip_begins
	end: at_the_end by_the_end in_the_end at_the_very_end near_the_end towards_the_end toward_the_end when_the_video_ends when_the_clip_ends
	middle: midway_through halfway_through
	first half: in_the_first_half during_the_first_half within_the_first_half
	second half: in_the_second_half during_the_second_half within_the_second_half in_the_last_half during_the_last_half
`)

var namedWindowPhrases = phrasesOf(namedWindowWords)

// wholeVideoNouns turn "in the middle of" into a time: "in the middle of the video". The middle
// of the frame is a place.
var wholeVideoNouns = set("video clip footage recording film movie")

// unitMS are units of time in milliseconds.
var unitMS = map[string]int{
	"s": 1000, "sec": 1000, "secs": 1000, "second": 1000, "seconds": 1000,
	"m": 60_000, "min": 60_000, "mins": 60_000, "minute": 60_000, "minutes": 60_000,
	"h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
}

// cutWindows takes the time windows out of a question: "in the first 10 seconds".
func cutWindows(ts words) (rest words, windows []string) {
	for i := 0; i < len(ts); {
		window, n := windowAt(ts, i)
		if n == 0 {
			window, n = namedWindowAt(ts, i)
		}
		if n > 0 {
			windows = append(windows, window)
			i += n
			if ts.at(i) == "of" {
				i += mediaPhrase(ts, i)
			}
			continue
		}
		rest = append(rest, ts[i])
		i++
	}
	return rest, windows
}

// namedWindowAt reads "at the end". In "at the end of the street" it is a place.
func namedWindowAt(ts words, i int) (string, int) {
	edge, n := lookup(namedWindowWords, namedWindowPhrases, ts, i)
	if n == 0 {
		if m := middleOf.match(ts, i); m > 0 {
			j := i + m
			for determiners[ts.at(j)] || mediaModifiers[ts.at(j)] && !mediaNouns[ts.at(j)] {
				j++
			}
			if wholeVideoNouns[ts.at(j)] {
				return "middle", j + 1 - i
			}
		}
		return "", 0
	}
	if edge == "middle" {
		n += mediaPhraseBare(ts, i+n)
	}
	if ts.at(i+n) == "of" && mediaPhrase(ts, i+n) == 0 {
		return "", 0
	}
	return edge, n
}

var middleOf = phrases("in_the_middle_of at_the_middle_of around_the_middle_of")

var videoEndWords = map[string]string{
	"first": "first", "initial": "first", "opening": "first", "last": "last", "final": "last", "closing": "last",
}

// timePrepositions stand in front of one point in time.
var timePrepositions = map[string]string{
	"after": "after", "since": "after", "from": "after", "before": "before", "until": "before", "till": "before",
	"by": "before", "at": "at", "past": "after", "around": "at",
}

// approximators may stand between "at" and a time. They are dropped, because the window of an
// instant reaches around it.
var approximators = set("around about approximately roughly exactly precisely")

func windowAt(ts words, i int) (string, int) {
	switch ts.at(i) {
	case "in", "during", "within", "for", "over":
		if value, n := videoEndAt(ts, i+1); n > 0 {
			return value, n + 1
		}
	case "the":
		if i > 0 && !auxiliaries[ts.at(i-1)] {
			return videoEndAt(ts, i)
		}
	}
	if value, n := rangeAt(ts, i); n > 0 {
		return value, n
	}
	side, ok := timePrepositions[ts.at(i)]
	if !ok {
		return "", 0
	}
	j := i + 1
	if side == "at" && approximators[ts.at(j)] {
		j++
	}
	if ts.at(j) == "the" {
		j++
	}
	if ts.at(j) == "first" && (side == "after" || side == "before") {
		j++
	}
	ms, n := timeAt(ts, j)
	if n == 0 {
		return "", 0
	}
	j += n
	switch ts.at(j) {
	case "mark", "on", "onward", "onwards", "timestamp":
		j++
	default:
		if ts.at(i) == "from" {
			return "", 0
		}
	}
	return side + " " + formatSeconds(ms), j - i
}

// videoEndAt reads "the first 10 seconds", "the final minute".
func videoEndAt(ts words, i int) (string, int) {
	j := i
	if ts.at(j) == "the" {
		j++
	}
	if ts.at(j) == "very" {
		j++
	}
	span, ok := videoEndWords[ts.at(j)]
	if !ok {
		return "", 0
	}
	if ms, n := timeAt(ts, j+1); n > 0 {
		return span + " " + formatSeconds(ms), j + 1 + n - i
	}
	if ms, ok := unitMS[ts.at(j+1)]; ok && ts.at(j+1) != "seconds" && ts.at(j+1) != "minutes" {
		return span + " " + formatSeconds(ms), j + 2 - i
	}
	return "", 0
}

// rangeAt reads "between 0:05 and 0:12", "from 5 to 10 seconds", "0:05 to 0:12". One of the two
// times may lack the unit.
func rangeAt(ts words, i int) (string, int) {
	j := i
	joiners := []string{"to"}
	switch ts.at(i) {
	case "between":
		joiners, j = []string{"and", "to"}, i+1
	case "from":
		joiners, j = []string{"to", "until", "till", "through"}, i+1
	case "during", "in", "within":
		j = i + 1
	}
	if ts.at(j) == "the" {
		j++
	}
	from, n := timeAt(ts, j)
	bare := n == 0 && amount(ts.at(j)) >= 0
	if bare {
		// "between 5 and 12 seconds"
		n = 1
	}
	if n == 0 || !slices.Contains(joiners, ts.at(j+n)) {
		return "", 0
	}
	k := j + n + 1
	if ts.at(k) == "the" {
		k++
	}
	to, m := timeAt(ts, k)
	switch {
	case m > 0 && bare:
		unit := unitMS[strings.TrimLeft(ts.at(k+m-1), "0123456789.")]
		if m > 2 || unit == 0 {
			return "", 0
		}
		from = amount(ts.at(j)) * unit / 1000
	case m == 0 && n > 1 && unitMS[ts.at(j)] > 0 && amount(ts.at(k)) >= 0:
		// "between seconds 5 and 12"
		to, m = amount(ts.at(k))*unitMS[ts.at(j)]/1000, 1
	}
	if m == 0 || from >= to {
		return "", 0
	}
	k += m
	if ts.at(k) == "mark" || ts.at(k) == "marks" {
		k++
	}
	return formatThousandths(from) + " to " + formatSeconds(to), k - i
}

// timeAt reads "0:05", "10 seconds", "second 10", "1 minute 30 seconds" or "10s", in
// milliseconds.
func timeAt(ts words, i int) (ms, n int) {
	w := ts.at(i)
	if v := clock(w); v >= 0 {
		return v, 1
	}
	if u := unitMS[w]; u > 0 && len(w) > 3 && amount(ts.at(i+1)) >= 0 && unitMS[ts.at(i+2)] == 0 {
		return amount(ts.at(i+1)) * u / 1000, 2
	}
	if w == "half" && (ts.at(i+1) == "a" || ts.at(i+1) == "minute") {
		if j := i + 1; ts.at(j) == "a" && unitMS[ts.at(j+1)] > 1000 {
			return unitMS[ts.at(j+1)] / 2, 3
		} else if ts.at(j) == "minute" {
			return 30_000, 2
		}
	}
	v := amount(w)
	if w == "a" || w == "an" {
		v = 1000
	}
	u := unitMS[ts.at(i+1)]
	if v >= 0 && u > 0 {
		ms, n = v*u/1000, 2
		j := i + 2
		if ts.at(j) == "and" {
			j++
		}
		if next := unitMS[ts.at(j+1)]; u > 1000 && next > 0 && next < u && amount(ts.at(j)) >= 0 {
			return ms + amount(ts.at(j))*next/1000, j + 2 - i
		}
		return ms, n
	}
	for _, suffix := range []string{"secs", "sec", "mins", "min", "s", "m"} {
		if digits, ok := strings.CutSuffix(w, suffix); ok && digits != "" && digits[0] <= '9' && amount(digits) >= 0 {
			return amount(digits) * unitMS[suffix] / 1000, 1
		}
	}
	return 0, 0
}

// clock is "1:02:03.5" in milliseconds, or -1 for anything else.
func clock(w string) int {
	parts := strings.Split(w, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return -1
	}
	total := 0
	for i, part := range parts {
		v := amount(part)
		if v < 0 || part[0] > '9' || i > 0 && v >= 60_000 || i+1 < len(parts) && v%1000 != 0 {
			return -1
		}
		total = total*60 + v
	}
	return total
}

// amount is a number with up to three decimals, in thousandths, or -1 for anything else.
func amount(w string) int {
	if n := number(w); n >= 0 {
		return n * 1000
	}
	before, after, ok := strings.Cut(w, ".")
	if !ok || after == "" || len(after) > 3 || number(before) < 0 || before[0] > '9' {
		return -1
	}
	fraction, err := strconv.Atoi(after)
	if err != nil || fraction < 0 {
		return -1
	}
	for range 3 - len(after) {
		fraction *= 10
	}
	return number(before)*1000 + fraction
}

func formatSeconds(ms int) string { return formatThousandths(ms) + " s" }

// formatThousandths writes thousandths as a decimal number without trailing zeros.
func formatThousandths(ms int) string {
	s := strconv.Itoa(ms / 1000)
	if rest := ms % 1000; rest > 0 {
		s += "." + strings.TrimRight(strconv.Itoa(1000 + rest)[1:], "0")
	}
	return s
}
