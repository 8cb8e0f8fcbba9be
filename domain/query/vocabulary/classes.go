package vocabulary

import (
	"slices"
	"strings"
)

// relation says how a word relates to its classes.
type relation string

const (
	same     relation = "=" // it means the classes
	narrower relation = ">" // the classes also cover things that it does not mean
	partly   relation = "<" // it also means things without a class
	unknown  relation = "-" // it means none, whatever WordNet says
)

// entry is a row of the table classes: what a word means in the classes of COCO.
type entry struct {
	classes  []string
	relation relation
}

var (
	cocoClasses = list("coco")

	entries = map[string]entry{}
	// mounts maps words for a person to what this person rides, see Riding.
	mounts = map[string]string{}
	// nouns holds the nouns of the tables.
	nouns = setOf(slices.Concat(cocoClasses, list("nouns")))
)

func init() {
	for row := range rows("classes") {
		sign := slices.IndexFunc(row, func(w string) bool { return strings.Contains("=><-", w) })
		e := entry{classes: row[:sign], relation: relation(row[sign])}
		mount := ""
		if sign == 3 && row[1] == "riding" {
			e.classes, mount = row[:1], row[2]
		}
		for _, w := range row[sign+1:] {
			entries[w], nouns[w] = e, true
			if mount != "" {
				mounts[w] = mount
			}
		}
	}
}

// COCO is the vocabulary of models trained on the 80 classes of COCO, with everyday words for
// them.
func COCO() Vocabulary { return coco }

var coco Vocabulary

func init() { coco = newVocabulary(cocoClasses) }

// Noun reports whether the tables have a noun, in the singular. They have all nouns with a
// class, and common ones without.
func Noun(word string) bool { return nouns[word] }

// Nouns returns the nouns of the tables, in no order.
func Nouns() []string {
	out := make([]string, 0, len(nouns))
	for w := range nouns {
		out = append(out, w)
	}
	return out
}

// Riding returns what a person rides who is named by it: "bicycle" for "cyclist". It is
// "nothing" for a person in the street who rides nothing ("pedestrian"), and "" for all other
// words.
func Riding(person string) string { return mounts[person] }

// portions are words for a part of a thing: "a slice of pizza".
var portions = map[string]bool{"slice": true, "piece": true}
