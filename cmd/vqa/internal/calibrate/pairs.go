package calibrate

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"vqa/cmd/vqa/internal/evaluate"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
)

// Pair is a class in a clip, with what the questions about the clip say about it.
type Pair struct {
	Clip string
	// Class is the class of the engine that the word in the questions means.
	Class string
	// Absent says that no frame shows the class.
	Absent bool
	// Shown are intervals in seconds that show the class. Nil means that it is shown at some time.
	Shown [][2]float64
	// Unasked says that no question is about the class.
	Unasked bool
}

// Labels list the classes in a clip, of all classes of the engine.
type Labels struct {
	Present []string `json:"present"`
	// Unclear are left out, such as a part of an object. Every other class is absent.
	Unclear []string `json:"unclear"`
}

// ReadLabels reads a JSON object of [Labels] by clip.
func ReadLabels(path string) (labels map[string]Labels, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &labels); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return labels, nil
}

// with adds the pairs of labels, where no question says more.
func with(pairs []Pair, labels map[string]Labels, clips []string, classes []string) []Pair {
	for _, clip := range clips {
		l, ok := labels[clip]
		for _, class := range classes {
			asked := slices.ContainsFunc(pairs, func(p Pair) bool { return p.Clip == clip && p.Class == class })
			if ok && !asked && !slices.Contains(l.Unclear, class) {
				pairs = append(pairs, Pair{Clip: clip, Class: class, Absent: !slices.Contains(l.Present, class), Unasked: true})
			}
		}
	}
	return pairs
}

// Pairs reads the labels of classes from questions with their answers. A question about a red cup with
// the answer yes says that there is a cup; with the answer no it says nothing about cups.
func Pairs(questions []evaluate.Case, v vocabulary.Vocabulary) []Pair {
	var pairs []Pair
	for _, q := range questions {
		typed, ok := english.Compile(q.Question).Question()
		if !ok || len(typed.Within) > 0 || typed.Always {
			continue
		}
		for _, p := range labels(q, typed.Body, v) {
			i := slices.IndexFunc(pairs, func(old Pair) bool { return old.Clip == p.Clip && old.Class == p.Class })
			switch {
			case i < 0:
				pairs = append(pairs, p)
			case p.Absent || pairs[i].Shown == nil && !pairs[i].Absent:
				pairs[i] = p
			}
		}
	}
	return pairs
}

// labels are what one question says about the classes of its statement.
func labels(q evaluate.Case, s query.Statement, v vocabulary.Vocabulary) []Pair {
	yes := q.Answer == "yes"
	if not, ok := s.(query.Not); ok {
		yes, s = !yes, not.Of
		q.Clips = nil // they are those of the complement
	}
	if q.Count != nil {
		yes = *q.Count > 0
	}
	switch s := s.(type) {
	case query.Is:
		return label(q, s.Thing, v, yes, len(s.Thing.Conditions) == 0)
	case query.Number:
		q.Clips = nil
		return label(q, s.Thing, v, yes, len(s.Thing.Conditions) == 0 && q.Count != nil)
	case query.And:
		var all []Pair
		for _, t := range query.Things(s) {
			if yes {
				all = append(all, label(q, t, v, true, false)...)
			}
		}
		return all
	}
	return nil
}

// label is what the answer about one thing says. whole is true when the question is about nothing but
// the class.
func label(q evaluate.Case, t query.Thing, v vocabulary.Vocabulary, yes, whole bool) []Pair {
	classes, ok := v.Lookup(t.Term)
	several := len(classes) > 1 && v.Confused(t.Term) == nil
	if !ok || several || v.Narrower(t.Term) && !yes || !yes && !whole {
		return nil
	}
	return []Pair{{Clip: q.File, Class: classes[0], Absent: !yes, Shown: q.Clips}}
}
