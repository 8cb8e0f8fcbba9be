package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate DICT_FOLDER FILE")
		os.Exit(2)
	}
	text, err := build(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o644) //nolint:gosec // a source file that everybody may read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// roots lists the noun senses whose narrower words get a kind. A kind is a class of COCO. The
// list has people, animals and vehicles only: of other things, WordNet's "is a kind of" often
// differs from what a picture shows (a wheelchair is a kind of chair).
var roots = []struct {
	lemma string
	sense int
	kind  string
}{
	{"person", 1, "person"},
	{"bird", 1, "bird"},
	// "cat" also has the lynx and the cougar.
	{"domestic_cat", 1, "cat"},
	{"dog", 1, "dog"},
	{"horse", 1, "horse"},
	{"sheep", 1, "sheep"},
	{"cattle", 1, "cow"},
	{"elephant", 1, "elephant"},
	{"bear", 1, "bear"},
	{"zebra", 1, "zebra"},
	{"giraffe", 1, "giraffe"},
	{"bicycle", 1, "bicycle"},
	{"car", 1, "car"},
	{"motorcycle", 1, "motorcycle"},
	{"airplane", 1, "airplane"},
	{"bus", 1, "bus"},
	{"train", 1, "train"},
	{"truck", 1, "truck"},
	{"vessel", 2, "boat"},
}

// physical holds the numbers of the lexicographer files whose nouns can be seen: animal,
// artifact, body, food, object, person, phenomenon, plant, substance.
var physical = map[string]bool{"05": true, "06": true, "08": true, "13": true, "17": true, "18": true, "19": true, "20": true, "27": true}

// The numbers of lexicographer files.
const (
	animals   = "05"
	artifacts = "06"
	foods     = "13"
	persons   = "18"
	plants    = "20"
)

// others lists the files whose senses make a kind doubtful. Animals share their names with
// their meat and with people.
var others = map[string]map[string]bool{
	persons:   {animals: true, artifacts: true, foods: true, plants: true},
	animals:   {artifacts: true, plants: true},
	artifacts: {animals: true, persons: true, foods: true, plants: true},
}

// wellKnown is the number of uses in the tagged texts from which a first sense counts as the
// meaning of a noun: "guest" has 26, "toaster" as a person 0, "tiger" as a person 1.
const wellKnown = 5

// spelled matches the lemmas that are kept. It leaves out numbers and abbreviations with periods.
var spelled = regexp.MustCompile(`^[a-z][a-z'-]+(_[a-z'-]+)*$`)

// synset is one sense that several nouns may share.
type synset struct {
	file     string
	physical bool
	lemmas   []string
	parents  []string
}

type database struct {
	synsets map[string]synset // by offset in data.noun
	kinds   map[string]string // by offset in data.noun
	counts  map[string]int    // uses in WordNet's tagged texts, by part of speech and lemma
	used    map[string]int    // uses of the first sense, by the same key
	notice  []byte
}

// build returns the text of wordnet.txt.
func build(dict string) ([]byte, error) {
	d := database{synsets: map[string]synset{}, kinds: map[string]string{}, counts: map[string]int{}, used: map[string]int{}}
	if err := d.readSynsets(dict); err != nil {
		return nil, err
	}
	if err := d.readCounts(dict); err != nil {
		return nil, err
	}
	words := map[string][]string{}
	for _, part := range []struct{ file, letter string }{{"noun", "n"}, {"verb", "v"}, {"adj", "a"}, {"adv", "r"}} {
		err := lines(filepath.Join(dict, "index."+part.file), func(line string) {
			f := strings.Fields(line)
			senses, _ := strconv.Atoi(f[2])
			d.add(words, f[0], part.letter, f[len(f)-senses:])
		})
		if err != nil {
			return nil, err
		}
	}
	out := bytes.NewBuffer(d.notice)
	for _, w := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(out, "%s %s\n", w, strings.Join(words[w], " "))
	}
	return out.Bytes(), nil
}

// add adds one part of speech of a lemma. Of the phrases it keeps those for kinds, and those for
// visible things that are not written with a capital: others are names of places and taxa.
func (d *database) add(words map[string][]string, lemma, letter string, senses []string) {
	if !spelled.MatchString(lemma) {
		return
	}
	entry, keep := letter+strconv.Itoa(d.counts[letter+lemma]), !strings.Contains(lemma, "_")
	if letter == "n" {
		senses = d.common(lemma, senses)
		first := senses[:min(2, len(senses))]
		if slices.ContainsFunc(first, func(o string) bool { return d.synsets[o].physical }) {
			entry += "p"
			keep = keep || slices.Contains(d.synsets[first[0]].lemmas, lemma)
		}
		if kind := d.kindOf(lemma, senses); kind != "" {
			entry += ":" + kind
			keep = true
		}
	}
	if keep {
		words[lemma] = append(words[lemma], entry)
	}
}

// common returns the senses with those first in which the word is a common noun: the ewe comes
// before the Ewe, a people.
func (d *database) common(lemma string, senses []string) []string {
	proper := func(o string) int {
		if slices.Contains(d.synsets[o].lemmas, lemma) {
			return 0
		}
		return 1
	}
	senses = slices.Clone(senses)
	slices.SortStableFunc(senses, func(a, b string) int { return proper(a) - proper(b) })
	return senses
}

// kindOf returns the kind of a noun, by the first of its senses. A noun that also means
// something else one can see has a kind only when its first sense is well known: a coach is a
// person, but a stroller is more likely a carriage, and a whale more likely an animal.
func (d *database) kindOf(lemma string, senses []string) string {
	kind := d.kindOfSense(senses[0])
	other := others[d.synsets[senses[0]].file]
	if d.used["n"+lemma] >= wellKnown || !slices.ContainsFunc(senses, func(o string) bool { return other[d.synsets[o].file] }) {
		return kind
	}
	// WordNet puts the person who is an ostrich before the bird.
	if second := senses[1]; kind == "person" && d.synsets[second].file == animals && slices.Contains(d.synsets[second].lemmas, lemma) && d.used["n"+lemma] == 0 {
		return d.kindOf(lemma, senses[1:])
	}
	return ""
}

// kindOfSense returns the kind of a noun sense, or "".
func (d *database) kindOfSense(offset string) string {
	if kind, known := d.kinds[offset]; known {
		return kind
	}
	d.kinds[offset] = ""
	for _, parent := range d.synsets[offset].parents {
		if kind := d.kindOfSense(parent); kind != "" {
			d.kinds[offset] = kind
			break
		}
	}
	return d.kinds[offset]
}

// readSynsets reads the noun senses, their parents, the kinds of the roots and the license.
func (d *database) readSynsets(dict string) error {
	data, err := os.ReadFile(filepath.Join(dict, "data.noun"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "  "); ok {
			_, text, _ = strings.Cut(text, " ")
			d.notice = append(d.notice, strings.TrimRight("# "+text, " \n")+"\n"...)
			continue
		}
		f := strings.Fields(line)
		lemmas, err := strconv.ParseInt(f[3], 16, 0)
		if err != nil {
			return fmt.Errorf("data.noun: synset %s: %w", f[0], err)
		}
		at := 4 + 2*int(lemmas)
		pointers, err := strconv.Atoi(f[at])
		if err != nil {
			return fmt.Errorf("data.noun: synset %s: %w", f[0], err)
		}
		s := synset{file: f[1], physical: physical[f[1]]}
		for l := range slices.Chunk(f[4:at], 2) {
			s.lemmas = append(s.lemmas, l[0])
		}
		for p := range slices.Chunk(f[at+1:at+1+4*pointers], 4) {
			// "@i", an instance, is left out: Einstein is not a word for a kind of person.
			if p[0] == "@" {
				s.parents = append(s.parents, p[1])
			}
		}
		d.synsets[f[0]] = s
	}
	return lines(filepath.Join(dict, "index.noun"), func(line string) {
		f := strings.Fields(line)
		senses, _ := strconv.Atoi(f[2])
		for _, r := range roots {
			if r.lemma == f[0] {
				d.kinds[f[len(f)-senses:][r.sense-1]] = r.kind
			}
		}
	})
}

// readCounts sums the uses of each lemma over its senses. Both count the same: an adjective ('3')
// and a satellite of one ('5').
func (d *database) readCounts(dict string) error {
	letters := map[byte]string{'1': "n", '2': "v", '3': "a", '4': "r", '5': "a"}
	return lines(filepath.Join(dict, "index.sense"), func(line string) {
		f := strings.Fields(line)
		lemma, key, _ := strings.Cut(f[0], "%")
		uses, _ := strconv.Atoi(f[3])
		lemma = letters[key[0]] + lemma
		d.counts[lemma] += uses
		if f[2] == "1" {
			d.used[lemma] += uses
		}
	})
}

// lines calls do with each line of a file after its license.
func lines(file string, do func(line string)) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "  ") {
			do(line)
		}
	}
	return nil
}
