package vocabulary

import (
	"maps"
	"slices"
	"strings"

	"vqa/domain/query/vocabulary/wordnet"
)

// meaning is the set of classes that a term stands for in a model.
type meaning struct {
	classes  []string
	relation relation
}

func (m meaning) equal(to meaning) bool {
	return m.relation == to.relation && slices.Equal(m.classes, to.classes)
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

// Of is the vocabulary of a model with these classes. Classes that are in [COCO] also get their
// everyday words. Without classes it is the zero Vocabulary: a model that does not name its
// classes is open and takes each term as it is.
func Of(classes []string) Vocabulary {
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
		v.meanings[name] = meaning{[]string{class}, same}
	}
	for word, e := range entries {
		m := meaningIn(named, e)
		// A car always includes the class truck, although the model has a class of that name.
		if _, own := named[word]; !own || m.relation == same {
			v.meanings[word] = m
		}
	}
	v.words = slices.Sorted(maps.Keys(v.meanings))
	return v
}

// meaningIn returns what a word of the tables means in the classes of a model, by their names in
// lower case. A model that lacks one of the classes does not know the word: its answer no would
// need that none of them is seen.
func meaningIn(named map[string]string, e entry) meaning {
	var known []string
	for _, c := range e.classes {
		if class, ok := named[c]; ok {
			known = append(known, class)
		}
	}
	if len(known) == 0 || len(known) < len(e.classes) && e.relation != partly {
		return meaning{nil, unknown}
	}
	return meaning{known, e.relation}
}

// Open reports whether the model takes any term as it is.
func (v Vocabulary) Open() bool { return len(v.classes) == 0 }

// Names returns the classes of the model in the model's order.
func (v Vocabulary) Names() []string { return slices.Clone(v.classes) }

// Lookup returns the classes of the model that a term stands for. An object of any of them is
// an instance of the term. ok is false for a term that the model cannot assess. Plurals,
// synonyms, misspellings and narrower words of WordNet are found too.
func (v Vocabulary) Lookup(term string) (classes []string, ok bool) {
	m, ok := v.find(term)
	return slices.Clone(m.classes), ok
}

// Covers reports whether the classes of a known term cover everything that the word means. If
// so, seeing none of them is evidence of absence. It is true for "dog", and false for "animal"
// in a model that knows ten kinds of animals.
func (v Vocabulary) Covers(term string) bool {
	m, ok := v.find(term)
	return ok && m.relation != partly
}

// Narrower reports whether the classes of a known term cover more than the word means. If so,
// seeing one of them is not evidence of presence. It is true for "puppy", which the model
// reports as a dog, and for "woman".
func (v Vocabulary) Narrower(term string) bool {
	m, ok := v.find(term)
	return ok && m.relation == narrower
}

// Confused returns the classes that the model confuses with the first class of a known
// term, although the word does not mean them. A truck without a car at the same place is
// not a car.
func (v Vocabulary) Confused(term string) []string {
	m, ok := v.find(term)
	if !ok || m.relation != same {
		return nil
	}
	return slices.Clone(m.classes[1:])
}

// Classes returns the classes that the model must detect for the search terms of a question,
// unique and in order. The classes of each term come first, then the other classes of the
// model: other detections at the same place help to separate look-alikes. An unknown term is
// passed on as it is, and the model reports whether it knows the term. For the zero Vocabulary
// that is every term.
func (v Vocabulary) Classes(terms ...string) []string {
	out := make([]string, 0, len(terms)+len(v.classes))
	add := func(classes []string) {
		for _, c := range classes {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	for _, term := range terms {
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
	m, ok := v.meanings[term]
	if !ok {
		term = Singular(term)
		m, ok = v.meanings[term]
	}
	if !ok {
		m, ok = v.findOther(term)
	}
	return m, ok && m.relation != unknown
}

// findOther finds a term that is not in the tables.
func (v Vocabulary) findOther(term string) (meaning, bool) {
	if whole, content, ok := strings.Cut(term, " of "); ok {
		return v.findContainer(whole, content)
	}
	if w, ok := wordnet.Lookup(term); ok {
		m, ok := v.meanings[w.Kind]
		return meaning{m.classes, narrower}, ok && m.relation != partly
	}
	nearest, ok := closest(term, v.words, func(a, b string) bool { return v.meanings[a].equal(v.meanings[b]) })
	return v.meanings[nearest], ok
}

// findContainer finds "a bowl of soup", which is one kind of bowl.
func (v Vocabulary) findContainer(whole, content string) (meaning, bool) {
	if portions[whole] {
		whole = content
	}
	m, ok := v.meanings[Singular(whole)]
	return meaning{m.classes, narrower}, ok && (m.relation == same || m.relation == narrower)
}
