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
