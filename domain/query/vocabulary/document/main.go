package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: document CLASSES.TXT WORDS.MD")
		os.Exit(2)
	}
	table, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], page(string(table)), 0o644) //nolint:gosec // a document that everybody may read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sections are the parts of the page, by the sign that their rows have in the table.
var sections = []struct{ sign, title, text, classes string }{
	{"=", "Words for a class", "`yes` when one is detected, else `no`.", "class"},
	{
		">", "Narrower words",
		"Answered as their class with a confidence of at most 0.69: a detected dog may or may not be a puppy.\n" +
			"Further words for people, animals and vehicles are known from WordNet. People who are named by what they ride\n" +
			"are answered by the boxes of both.", "classes",
	},
	{"<", "Words that the classes cover in part", "`yes` when one is detected, else `indeterminate`: the model does not know all animals.", "classes"},
	{"-", "Words without a class", "`indeterminate`, although other words of their kind have a class.", ""},
}

// page returns the page for the text of the table.
func page(table string) []byte {
	out := &strings.Builder{}
	out.WriteString("<!-- Written by go generate from domain/query/vocabulary/words/classes.txt. -->\n\n# Words of the classes\n\n" +
		"What words mean to models with the classes of COCO, such as `sight-1`. Plurals and misspellings are\n" +
		"read as these words. [Known words](questions.md#known-words) says how they are answered.\n")
	for _, s := range sections {
		fmt.Fprintf(out, "\n## %s\n\n%s\n\n", s.title, s.text)
		var classes []string
		words := map[string][]string{}
		for line := range strings.Lines(table) {
			row := strings.Fields(line)
			at := slices.Index(row, s.sign)
			if at < 0 || row[0] == "#" {
				continue
			}
			key := name(strings.ReplaceAll(strings.Join(row[:at], ", "), ", riding, ", " riding "))
			if words[key] == nil {
				classes = append(classes, key)
			}
			for _, w := range row[at+1:] {
				words[key] = append(words[key], name(w))
			}
		}
		if s.classes == "" {
			fmt.Fprintln(out, strings.Join(words[""], ", ")+".")
			continue
		}
		fmt.Fprintf(out, "| %s | words |\n|---|---|\n", s.classes)
		for _, c := range classes {
			fmt.Fprintf(out, "| %s | %s |\n", c, strings.Join(words[c], ", "))
		}
	}
	return []byte(out.String())
}

func name(word string) string { return strings.ReplaceAll(word, "_", " ") }
