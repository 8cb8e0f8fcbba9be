package vocabulary

import (
	"embed"
	"iter"
	"strings"
)

//go:embed words/*.txt
var files embed.FS

// rows returns the lines of a table, split at spaces, without comments. Underscores become
// spaces.
func rows(name string) iter.Seq[[]string] {
	text, err := files.ReadFile("words/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(text)) {
			row := strings.Fields(line)
			if len(row) == 0 || row[0] == "#" {
				continue
			}
			for i, w := range row {
				row[i] = strings.ReplaceAll(w, "_", " ")
			}
			if !yield(row) {
				return
			}
		}
	}
}

// list returns all words of a table.
func list(name string) []string {
	var out []string
	for row := range rows(name) {
		out = append(out, row...)
	}
	return out
}

// setOf returns words as a set.
func setOf(words []string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		out[w] = true
	}
	return out
}
