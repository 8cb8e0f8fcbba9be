package query

import (
	"strconv"
	"strings"
)

// unwrap drops politeness at both ends: "Hi, can you please tell me if … , thanks".
func unwrap(ts words) words {
	for len(ts) > 0 {
		n := wrappers.match(ts, 0)
		if n == 0 {
			break
		}
		if guarded[ts[:n].text()] && !joints[ts.at(n)] {
			break
		}
		if ts.at(0) == "that" && n == 1 && auxiliaries[ts.at(1)] {
			break
		}
		ts = ts[n:]
	}
	for len(ts) > 0 {
		last := ts.at(len(ts) - 1)
		if last != "please" && last != "," && last != "thanks" && last != "right" {
			break
		}
		if last == "right" && ts.at(len(ts)-2) != "," {
			break
		}
		ts = ts[:len(ts)-1]
	}
	if len(ts) > 2 && ts.at(len(ts)-2) == "thank" && ts.at(len(ts)-1) == "you" {
		return unwrap(ts[:len(ts)-2])
	}
	return ts
}

// clean drops what does not change the question: where else than in the video should
// it be, and noise. Words for absence become the one word "absent".
func clean(ts words) words {
	var out words
	for i := 0; i < len(ts); {
		if n := absent.match(ts, i); n > 0 && !(n == 1 && determiners[out.at(len(out)-1)]) {
			out = append(out, token{w: "absent"})
			i += n
			continue
		}
		if n := mediaPhrase(ts, i); n > 0 && out.at(len(out)-1) != "front" {
			i += n
			continue
		}
		if n := noise.match(ts, i); n > 0 {
			i += n
			continue
		}
		// A comma behind "is there" only pauses.
		if before := out.at(len(out) - 1); ts.at(i) == "," && (before == "there" || auxiliaries[before] || before == ",") {
			i++
			continue
		}
		// "present" is noise as an adjective and a noun after its article.
		if w := ts.at(i); (w == "present" || w == "there" && i+1 == len(ts)) && i > 0 && !determiners[ts.at(i-1)] && ts.at(i-1) != "are" {
			i++
			continue
		}
		out = append(out, ts[i])
		i++
	}
	for len(out) > 0 && out.at(len(out)-1) == "," {
		out = out[:len(out)-1]
	}
	return out
}

var mediaPrepositions = set("in on within during throughout inside from of at through across into")

// mediaPhrase is the length of "in the whole video" at i, 0 when there is none.
func mediaPhrase(ts words, i int) int {
	if !mediaPrepositions[ts.at(i)] {
		return 0
	}
	j := i + 1
	for k := 0; k < 2 && (determiners[ts.at(j)] && ts.at(j) != "of" || owners[ts.at(j)]); k++ {
		j++
	}
	if definite := ts.at(i+1) == "the" || ts.at(i+1) == "this"; definite && j == i+2 && settings[ts.at(j)] &&
		ts.at(i) != "of" && ts.at(i) != "across" && ts.at(i) != "from" && ts.at(i) != "into" && ts.at(i) != "through" {
		return 3
	}
	j += modifiers(ts, j)
	if !media[ts.at(j)] {
		return 0
	}
	return j + 1 - i
}

// modifiers counts the words at i that stand before a media noun: "whole", "camera"
// before "footage".
func modifiers(ts words, i int) int {
	j := i
	for mediaModifiers[ts.at(j)] && (media[ts.at(j+1)] || mediaModifiers[ts.at(j+1)]) {
		j++
	}
	return j - i
}

var edges = table(`
	beginning: at_the_beginning in_the_beginning at_the_start at_first at_the_very_beginning at_the_very_start
	end: at_the_end in_the_end at_the_very_end near_the_end
	first half: in_the_first_half during_the_first_half
	second half: in_the_second_half during_the_second_half
`)

var edgePhrases = phrasesOf(edges)

var units = map[string]string{
	"s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"m": "min", "min": "min", "mins": "min", "minute": "min", "minutes": "min",
}

// cutWindows takes the time windows out of a question: "in the first 10 seconds".
func cutWindows(ts words) (rest words, windows []string) {
	for i := 0; i < len(ts); {
		if edge, n := lookup(edges, edgePhrases, ts, i); n > 0 {
			windows = append(windows, edge)
			i += n
			continue
		}
		if window, n := windowAt(ts, i); n > 0 {
			windows = append(windows, window)
			i += n
			continue
		}
		rest = append(rest, ts[i])
		i++
	}
	return rest, windows
}

func windowAt(ts words, i int) (string, int) {
	switch ts.at(i) {
	case "in", "during", "within", "for":
		if ts.at(i+1) != "the" || ts.at(i+2) != "first" && ts.at(i+2) != "last" {
			return "", 0
		}
		if t, n := timeAt(ts, i+3); n > 0 {
			return ts.at(i+2) + " " + t, n + 3
		}
		if unit, ok := units[ts.at(i+3)]; ok {
			return ts.at(i+2) + " 1 " + unit, 4
		}
	case "between", "from":
		joint := map[string]string{"between": "and", "from": "to"}[ts.at(i)]
		a, n := timeAt(ts, i+1)
		if n == 0 && number(ts.at(i+1)) >= 0 {
			// "between 5 and 12 seconds": the unit stands once.
			a, n = ts.at(i+1), 1
		}
		if n == 0 || ts.at(i+1+n) != joint {
			return "", 0
		}
		if b, m := timeAt(ts, i+2+n); m > 0 {
			return a + " to " + b, n + m + 2
		}
	case "after", "before", "at", "until":
		if t, n := timeAt(ts, i+1); n > 0 {
			return ts.at(i) + " " + t, n + 1
		}
	}
	return "", 0
}

// timeAt reads "0:05", "10 seconds" or "10s".
func timeAt(ts words, i int) (string, int) {
	w := ts.at(i)
	if before, after, ok := strings.Cut(w, ":"); ok && number(before) >= 0 && number(after) >= 0 {
		return w, 1
	}
	if unit, ok := units[ts.at(i+1)]; ok && number(w) >= 0 {
		return strconv.Itoa(number(w)) + " " + unit, 2
	}
	for _, suffix := range []string{"s", "sec", "min"} {
		if n, ok := strings.CutSuffix(w, suffix); ok && n != "" && n[0] >= '0' && n[0] <= '9' && number(n) >= 0 {
			return n + " " + units[suffix], 1
		}
	}
	return "", 0
}

// number is the value of a number word or of digits up to the largest quantity, -1
// for anything else.
func number(w string) int {
	if n, ok := numbers[w]; ok {
		return n
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 || n > maxQuantity {
		return -1
	}
	return n
}
