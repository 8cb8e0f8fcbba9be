package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
)

// towards is the type of a direction behind a verb: " from left".
type towards string

// behind is the type of a preposition and its object behind a verb: "over fence".
type behind string

// object is the noun phrase after a verb or a preposition; "car or truck" has alternatives.
type object struct {
	text  string
	marks []query.Condition
}

func (a *args) object(label string) object {
	switch v := a.get(label).(type) {
	case object:
		return v
	case string:
		return object{text: v}
	}
	return object{}
}

// action is the predicate of a verb in its -ing form with the words behind it, in their normal form.
func action(ing, rest string) predicate {
	value := strings.TrimSpace(ing + " " + rest)
	if normal := tables["actions"][value]; normal != "" {
		value = normal
	} else if normal := tables["actions"][ing]; normal != "" && !strings.Contains(normal, " ") {
		value = strings.TrimSpace(normal + " " + rest)
	}
	return one(query.KindAction, value)
}

// act is the predicate of a verb with its object, particle and places.
func act(v verb, o object, particle string, rest []any) any {
	if setOf("wearing having being")[v.ing] || v.ing == "showing" && o.text == "" && particle == "" {
		return nil // these have their own rules
	}
	var out predicate
	for _, what := range split(o.text) {
		for _, with := range choices(rest) {
			p, ok := actOne(v.ing, what, particle, with)
			if !ok {
				return nil
			}
			for _, alternative := range p.alternatives {
				out.alternatives = append(out.alternatives, slices.Concat(alternative, o.marks))
			}
			out.with = p.with
		}
	}
	return out
}

// choices returns the words behind a verb once for each alternative: "with a ball or a frisbee".
func choices(rest []any) [][]any {
	for i, r := range rest {
		if o, ok := r.(object); ok && strings.Contains(o.text, " or ") {
			var out [][]any
			for _, text := range split(o.text) {
				one := slices.Clone(rest)
				one[i] = object{text: text}
				out = append(out, one)
			}
			return out
		}
	}
	return [][]any{rest}
}

func actOne(ing, what, particle string, rest []any) (predicate, bool) {
	direction, words := "", ""
	places := nothingMore
	for _, r := range rest {
		switch r := r.(type) {
		case towards:
			direction = string(r)
		case behind:
			words += " " + string(r)
		case predicate:
			if len(r.alternatives) != 1 {
				return predicate{}, false
			}
			places = places.both(r)
		case object:
			adj, n, _ := strings.Cut(r.text, " ")
			switch posed, ok := pose(n, adj).(predicate); {
			case ok:
				places = places.both(posed)
			case moves(ing):
				return predicate{}, false // "walking with a dog" is about two things
			case what == "" && particle == "" && words == "":
				words = "with " + r.text // "playing with a ball"
			default:
				places = places.both(one(query.KindAttribute, "with "+r.text))
			}
		}
	}
	words = strings.TrimSpace(words)
	if verb, ok := passage(ing, what, particle, words); ok {
		return one(query.KindAction, verb+direction).both(places), true
	}
	if on := places.alternatives[0]; ing == "riding" && what == "" && len(on) > 0 && on[0].Kind == query.KindAction {
		return places, true // "riding on horseback"
	} else if ing == "riding" && what == "" && len(on) > 0 && strings.HasPrefix(on[0].Value, "on ") {
		what = strings.TrimPrefix(on[0].Value, "on ") // "riding on a bike"
		places.alternatives = [][]query.Condition{on[1:]}
	}
	value := strings.Join(strings.Fields(ing+" "+particle+" "+what+" "+words), " ")
	alone := strings.Join(strings.Fields(ing+" "+what+" "+particle+" "+words), " ")
	if tables["actions"][alone] != "" {
		value = alone
	}
	if moves(ing) && (what == "" && ground(words) || words == "" && ground(particle+" "+what)) {
		value = ing // "walking down the street"
	}
	first, more, _ := strings.Cut(value, " ")
	p := action(first, more)
	got := p.alternatives[0][0].Value
	if tables["appearing"][got] != "" && (got != "staying" && got != "remaining" || len(places.alternatives[0]) > 0) {
		return places, true
	}
	p.alternatives[0][0].Value += direction
	return p.both(places), true
}

// moves reports whether a verb is a posture or a motion, whose "with" names another thing.
func moves(ing string) bool {
	if mounted := tables["actions"][ing]; strings.HasPrefix(mounted, "riding ") {
		return true
	}
	return tables["travel"][ing] != "" || setOf("sitting standing lying entering leaving waiting dancing")[ing]
}

// ground reports whether words behind a verb of motion name the ground that it happens on.
func ground(words string) bool {
	prep, place, _ := strings.Cut(words, " ")
	return setOf("down up along over across around")[prep] && (tables["ground"][place] != "" || setOf("street road path trail")[place]) && prep != "across" && prep != "over"
}

// passage reads coming and going: "walking into the room", "getting out of the frame".
func passage(ing, what, particle, words string) (string, bool) {
	scene := func(w string) bool { return tables["media"][w] != "" || tables["scenes"][w] != "" }
	switch {
	case (ing == "entering" || ing == "leaving" || ing == "exiting") && particle == "" && words == "" && scene(what):
		return map[bool]string{true: "entering", false: "leaving"}[ing == "entering"], true
	case tables["travel"][ing] == "" || what != "":
		return "", false
	}
	if place, ok := strings.CutPrefix(words, "into "); ok && scene(place) && particle == "" {
		return "entering", true
	}
	if place, ok := strings.CutPrefix(words, "out of "); ok && scene(place) && particle == "" {
		return "leaving", true
	}
	if place, ok := strings.CutPrefix(words, "off "); ok && scene(place) && particle == "" {
		return "leaving", true
	}
	return "", false
}

// tidy drops places that an action implies: people stand, walk, run and fall on the ground, jump into the
// air, and cross their arms before the chest.
func tidy(conditions []query.Condition) []query.Condition {
	var out []query.Condition
	for _, c := range conditions {
		implied := c.Kind == query.KindLocation && slices.ContainsFunc(out, func(a query.Condition) bool {
			return a.Kind == query.KindAction && !a.Negated && implies(a.Value, c.Value)
		})
		if !implied {
			out = append(out, c)
		}
	}
	return out
}

func implies(action, place string) bool {
	relation, where, _ := strings.Cut(place, " ")
	onGround := tables["ground"][where] != "" && (relation == "on" || relation == "in" || relation == "onto")
	switch action {
	case "standing", "walking", "running", "moving", "falling":
		return onGround
	case "jumping":
		return onGround || where == "air"
	case "crossing arms":
		return strings.HasSuffix(place, " chest")
	case "waving":
		return place == "at camera"
	}
	return false
}
