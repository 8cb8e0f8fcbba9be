package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
)

// encode is the wire form of a question without the parts that cannot be assessed.
func (q question) encode() (query.Query, bool) {
	s := q.statement()
	if s == nil || q.always && q.ask != query.AskWhether {
		return query.Query{}, false
	}
	c := cleaner{}
	s = c.clean(s)
	if c.bad {
		return query.Query{}, false
	}
	if s == nil {
		return openEnded(c.parts()), len(c.found) > 0
	}
	out, err := query.Encode(query.Question{Ask: q.ask, Body: s, Within: slices.Compact(slices.Clone(q.within)), Always: q.always}, c.objects...)
	if err != nil {
		return query.Query{}, false
	}
	out.UnassessableComponents = c.parts()
	return out, true
}

// cleaner takes what no model can assess out of a statement.
type cleaner struct {
	found   []query.Unassessable
	objects []string
	// bad is true when a part has no meaning.
	bad bool
}

func (c *cleaner) parts() []query.Unassessable { return append([]query.Unassessable{}, c.found...) }

func (c *cleaner) note(kind query.Obstacle, words string) {
	u := query.Unassessable{Kind: kind, Text: words}
	if !slices.Contains(c.found, u) {
		c.found = append(c.found, u)
	}
}

// clean returns nil when nothing remains to ask.
func (c *cleaner) clean(s query.Statement) query.Statement {
	switch s := s.(type) {
	case query.Is:
		t, ok := c.thing(s.Thing)
		if !ok {
			return nil
		}
		return query.Is{Thing: t}
	case query.Number:
		t, ok := c.thing(s.Thing)
		if !ok {
			return nil
		}
		s.Thing = t
		return s
	case query.Share:
		n := len(s.Conditions)
		t, ok := c.thing(s.Thing)
		asked, more := c.thing(query.Thing{Term: "person", Conditions: s.Conditions})
		if !ok || !more || len(asked.Conditions) < n {
			return nil
		}
		s.Thing, s.Conditions = t, asked.Conditions
		return s
	case query.And:
		return c.join(s.Of, func(of []query.Statement) query.Statement { return query.And{Of: of} })
	case query.Or:
		n := len(c.found)
		of := c.join(s.Of, func(of []query.Statement) query.Statement { return query.Or{Of: of} })
		if len(c.found) > n {
			return nil
		}
		return of
	case query.Not:
		n := len(c.found)
		of := c.clean(s.Of)
		if of == nil || len(c.found) > n {
			return nil
		}
		return query.Not{Of: of}
	case query.Order:
		n := len(c.found)
		s.First, s.Other = c.clean(s.First), c.clean(s.Other)
		if s.First == nil || s.Other == nil || len(c.found) > n {
			return nil
		}
		return s
	case query.More:
		a, ok := c.thing(s.Thing)
		b, also := c.thing(s.Than)
		if !ok || !also {
			return nil
		}
		return query.More{Thing: a, Than: b}
	}
	return nil
}

func (c *cleaner) join(of []query.Statement, op func([]query.Statement) query.Statement) query.Statement {
	var out []query.Statement
	for _, s := range of {
		if s = c.clean(s); s != nil {
			out = append(out, s)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return op(out)
}

// thing takes the conditions that cannot be assessed from a thing. ok is false when nothing is left to ask.
func (c *cleaner) thing(t query.Thing) (query.Thing, bool) {
	t.Conditions = slices.Clone(t.Conditions)
	p := phrase{thing: t}
	ride(&p, t.Presupposed && slices.ContainsFunc(t.Conditions, func(x query.Condition) bool { return x.Value == "jumping" || x.Value == "falling" }))
	t = p.thing
	if kind := obstacleNoun(t.Term); kind != "" {
		c.note(kind, t.Term)
		return t, false
	}
	var kept []query.Condition
	ok := true
	for _, x := range t.Conditions {
		kind, words := obstacleOf(t.Term, x)
		switch {
		case x.Kind == refused:
			ok = false
		case kind != "":
			if words == "" || x.Kind == mark && !strings.HasPrefix(words, "my ") && !strings.HasPrefix(words, "named") {
				words = strings.TrimSpace(words + " " + t.Term)
			}
			c.note(kind, words)
			if spoken(x) {
				kept = append(kept, x) // a part of it can be seen
			}
			ok = ok && kind != query.ExhaustiveCount && words != "many "+t.Term
		case strings.HasSuffix(x.Value, " it"):
			c.bad = true
		default:
			kept = append(kept, x)
		}
	}
	if !ok || c.bad {
		return t, false
	}
	if t.Term == "it" || films[t.Term] || len(kept) == 0 && (t.Term == "thing" || tables["media"][t.Term] != "" && t.Term != "camera") {
		c.bad = true
		return t, false
	}
	t.Conditions = kept
	for _, o := range t.Objects() {
		if o.Term != "each other" {
			c.objects = append(c.objects, o.Term)
		}
	}
	for _, x := range kept {
		if worn, ok := strings.CutPrefix(x.Value, "wearing "); ok {
			if last := worn[strings.LastIndexByte(worn, ' ')+1:]; colors[last] == "" {
				c.objects = append(c.objects, last)
			}
		}
	}
	return t, true
}

// films are words for the video itself, which is not a thing in it.
var films = setOf("video clip footage recording film movie")

func obstacleNoun(term string) query.Obstacle {
	switch {
	case tables["audio"][term] != "":
		return query.Audio
	case tables["text"][term] != "":
		return query.Text
	}
	return ""
}

// obstacleOf says why a condition on a thing cannot be assessed.
func obstacleOf(term string, c query.Condition) (query.Obstacle, string) {
	if c.Kind == mark {
		kind, words, _ := strings.Cut(c.Value, ":")
		return query.Obstacle(kind), words
	}
	first, _, _ := strings.Cut(c.Value, " ")
	switch {
	case c.Kind == query.KindAction && first == "saying" && isPerson(term):
		return query.Audio, c.Value
	case c.Kind == query.KindAction && (tables["audio"][first] != "" || tables["speech"][first] != "" && isPerson(term)):
		return query.Audio, c.Value
	case c.Kind == query.KindAction && (first == "saying" || first == "spelling" || first == "reading" && tables["labels"][term] != ""):
		return query.Text, c.Value
	case (c.Kind == query.KindAttribute || c.Kind == query.KindState) && tables["subjective"][c.Value] != "", c.Kind == query.KindAction && tables["subjective"][first] != "":
		return query.Subjective, c.Value
	case c.Kind == query.KindAttribute && tables["audio"][c.Value] != "":
		return query.Audio, c.Value
	case c.Kind == query.KindAttribute && tables["identity"][c.Value] != "":
		return query.Identity, c.Value
	}
	return "", ""
}

// obstaclesIn notes the words of a prompt that was not understood because it asks for what no model can
// assess.
func obstaclesIn(words []token) []query.Unassessable {
	c := cleaner{}
	label, english := false, 0
	for _, t := range words {
		label = label || tables["labels"][t.w] != ""
		if known(t.w) {
			english++
		}
	}
	if 2*english < len(words) || words[0].w == "¿" {
		return c.parts() // another language
	}
	for i, t := range words {
		one := strings.TrimSuffix(t.w, "s")
		switch {
		case t.name && i > 0 && words[i-1].name:
			c.found[len(c.found)-1].Text += " " + t.w
		case t.name || t.w == "who" && i < 2 || t.w == "whom":
			c.note(query.Identity, t.w)
		case tables["subjective"][t.w] != "" && t.w != "right":
			c.note(query.Subjective, t.w)
		case tables["audio"][t.w] != "" || tables["audio"][one] != "" || t.w == "hear" || t.w == "heard" || t.w == "hears":
			c.note(query.Audio, t.w)
		case i > 0 && (one == "say" || t.w == "said" || t.w == "saying") && !label:
			c.note(query.Audio, t.w)
		case tables["text"][t.w] != "" || tables["text"][one] != "" || i > 0 && (one == "say" || one == "spell" || one == "read" || t.w == "written"):
			c.note(query.Text, t.w)
		}
	}
	return c.parts()
}
