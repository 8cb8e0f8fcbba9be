package query

import "strings"

// set makes a set of the words of a text; an underscore stands for a space.
func set(texts ...string) map[string]bool {
	out := map[string]bool{}
	for _, t := range texts {
		for _, w := range strings.Fields(t) {
			out[strings.ReplaceAll(w, "_", " ")] = true
		}
	}
	return out
}

// table turns lines of the form "key: word word" into a map from each word to its key.
func table(lines string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(lines) {
		key, words, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key = strings.TrimSpace(key)
		for _, w := range strings.Fields(words) {
			out[strings.ReplaceAll(w, "_", " ")] = key
		}
	}
	return out
}

// truncate cuts a text to maxTextLen characters.
func truncate(s string) string {
	if r := []rune(s); len(r) > maxTextLen {
		return string(r[:maxTextLen])
	}
	return s
}
