package query

import (
	"maps"
	"slices"
	"strings"
)

// minCorrectLen is the length of the shortest word that is corrected. In shorter words a single
// edit too often makes another word (goat, boat).
const minCorrectLen = 5

// meaning is the set of classes that a term stands for in a model.
type meaning struct {
	classes []string
	// partial is true when the word also covers things without a class.
	partial bool
	// narrower is true when the classes also cover things that the word does not mean.
	narrower bool
}

func (m meaning) same(as meaning) bool {
	return m.partial == as.partial && m.narrower == as.narrower && slices.Equal(m.classes, as.classes)
}

// Vocabulary maps terms of a query to the classes of one model. The zero value is the
// vocabulary of an open model, which takes each term as it is. A Vocabulary is immutable and
// safe for concurrent use.
type Vocabulary struct {
	classes  []string
	meanings map[string]meaning
	// words are the keys of meanings in order, so that corrections are deterministic.
	words []string
}

// VocabularyOf is the vocabulary of a model with these classes. Classes that are in [COCO] also
// get their everyday words. Without classes it is the zero Vocabulary: a model that does not
// name its classes is open and takes each term as it is.
func VocabularyOf(classes []string) Vocabulary {
	switch {
	case len(classes) == 0:
		return Vocabulary{}
	case slices.Equal(classes, coco.classes):
		return coco
	}
	return newVocabulary(slices.Clone(classes))
}

func newVocabulary(classes []string) Vocabulary {
	v := Vocabulary{classes: classes, meanings: map[string]meaning{}}
	named := make(map[string]string, len(classes))
	for _, c := range classes {
		named[strings.ToLower(c)] = c
	}
	for name, class := range named {
		v.meanings[name] = meaning{classes: []string{class}}
	}
	// A word of cocoSynonyms replaces a class of the model with the same name, because a
	// car always includes the class truck. A word of the tables after it does not.
	for word, to := range cocoSynonyms {
		if known := modelClasses(named, to); len(known) == len(to) {
			v.meanings[word] = meaning{classes: known}
		}
	}
	for word, to := range cocoNarrower {
		known := modelClasses(named, to)
		if _, own := named[word]; !own && len(known) == len(to) {
			v.meanings[word] = meaning{classes: known, narrower: true}
		}
	}
	if person, ok := named["person"]; ok {
		for word := range roles {
			if _, own := named[word]; !own {
				v.meanings[word] = meaning{classes: []string{person}, narrower: true}
			}
		}
	}
	for word, to := range cocoCollective {
		known := modelClasses(named, to)
		if _, own := named[word]; !own && len(known) > 0 {
			v.meanings[word] = meaning{classes: known, partial: true}
		}
	}
	v.words = slices.Sorted(maps.Keys(v.meanings))
	return v
}

// modelClasses returns the model's names of those classes that the model has.
func modelClasses(named map[string]string, classes []string) []string {
	var out []string
	for _, c := range classes {
		if class, ok := named[c]; ok {
			out = append(out, class)
		}
	}
	return out
}

// Open reports whether the model takes any term as it is.
func (v Vocabulary) Open() bool { return len(v.classes) == 0 }

// Lookup returns the classes of the model that a term stands for. An object of any of them is
// an instance of the term. ok is false for a term that the model cannot assess. Plurals,
// synonyms and words one edit away from exactly one known meaning are found too.
func (v Vocabulary) Lookup(term string) (classes []string, ok bool) {
	m, ok := v.find(term)
	return slices.Clone(m.classes), ok
}

// Covers reports whether the classes of a known term cover everything that the word means. If
// so, seeing none of them is evidence of absence. It is true for "dog", and false for "animal"
// in a model that knows ten kinds of animals.
func (v Vocabulary) Covers(term string) bool {
	m, ok := v.find(term)
	return ok && !m.partial
}

// Narrower reports whether the classes of a known term cover more than the word means. If so,
// seeing one of them is not evidence of presence. It is true for "puppy", which the model
// reports as a dog, and for "woman".
func (v Vocabulary) Narrower(term string) bool {
	m, ok := v.find(term)
	return ok && m.narrower
}

// Confused returns the classes that the model confuses with the first class of a known
// term, although the word does not mean them. A truck without a car at the same place is
// not a car.
func (v Vocabulary) Confused(term string) []string {
	m, ok := v.find(term)
	if !ok || m.partial || m.narrower {
		return nil
	}
	return slices.Clone(m.classes[1:])
}

// Classes returns the classes that the model must detect to answer q, unique and in order. The
// classes of each search term come first, then the other classes of the model: other detections
// at the same place help to separate look-alikes. An unknown term is passed on as it is, and
// the model reports whether it knows the term. For the zero Vocabulary that is every term.
func (v Vocabulary) Classes(q Query) []string {
	out := make([]string, 0, len(q.SearchTerms)+len(v.classes))
	add := func(classes []string) {
		for _, c := range classes {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	for _, term := range q.SearchTerms {
		if classes, ok := v.Lookup(term); ok {
			add(classes)
		} else {
			add([]string{term})
		}
	}
	add(v.classes)
	return out
}

func (v Vocabulary) find(term string) (meaning, bool) {
	if m, ok := v.meanings[term]; ok {
		return m, true
	}
	if m, ok := v.meanings[singular(term)]; ok {
		return m, true
	}
	if whole, content, ok := strings.Cut(term, " of "); ok {
		return v.findContainer(whole, content)
	}
	return v.correct(singular(term))
}

// findContainer finds "a bowl of soup", which is one kind of bowl.
func (v Vocabulary) findContainer(whole, content string) (meaning, bool) {
	if portions[whole] {
		whole = content
	}
	m, ok := v.meanings[singular(whole)]
	m.narrower = true
	return m, ok && !m.partial
}

// correct finds the only meaning one edit away. The first letter must match and the word must
// not be a lookalike. Both rules keep "parrot" from being read as "carrot".
func (v Vocabulary) correct(term string) (meaning, bool) {
	var found meaning
	if len(term) < minCorrectLen || lookalikes[term] {
		return found, false
	}
	for _, word := range v.words {
		if len(word) < minCorrectLen || word[0] != term[0] || !oneEdit(term, word) {
			continue
		}
		m := v.meanings[word]
		if found.classes != nil && !found.same(m) {
			return meaning{}, false
		}
		found = m
	}
	return found, found.classes != nil
}

// oneEdit reports whether a becomes b when one letter is added, dropped or replaced, or when
// two letters change places ("bycicle").
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	for j := i + 1; j < len(a); j++ {
		if a[j] != b[j] {
			return a[i] == b[j] && a[j] == b[i] && a[j+1:] == b[j+1:]
		}
	}
	return false
}

// Names returns the classes of the model in the model's order.
func (v Vocabulary) Names() []string { return slices.Clone(v.classes) }
