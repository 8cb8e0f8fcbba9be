package english

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed grammar.txt
var grammarText string

// english is the grammar of all questions that are understood.
var english = func() *grammar {
	g, err := newGrammar(grammarText)
	if err != nil {
		panic(err)
	}
	return g
}()

// symbol is a word or a name of the grammar.
type symbol int32

// element is one part of the right side of a rule.
type element struct {
	sym                symbol
	label              string // "" when the action does not get the value
	optional, repeated bool
}

// rule says of which elements a symbol may consist.
type rule struct {
	lhs      symbol
	elements []element
	// act computes the value from those of the labeled elements. Without it, the value is that of the
	// only labeled element, or the constant, or else the words themselves.
	act      func(*args) any
	action   string // the name of act
	constant string
	cost     int
	source   string
}

// grammar is a context-free grammar with costs.
type grammar struct {
	names []string
	ids   map[string]symbol
	rules []*rule
	// begins lists for each symbol the elements of rules that it can begin.
	begins [][]beginning
	// corners has for each symbol the symbols that can begin it.
	corners []bitset
	// quiet symbols have no meaning: "please".
	quiet map[symbol]bool
	// lexical names stand for classes of words; see leaves.
	lexical map[symbol]bool
}

type beginning struct {
	rule, element int
}

// lexicalNames are the symbols without rules that are not words themselves.
var lexicalNames = []string{"N", "Garment", "Body", "V", "Ing", "Done", "A", "C", "Number", "Decimal", "Clock", "Name"}

// newGrammar reads the format that grammar.txt describes.
func newGrammar(text string) (*grammar, error) {
	g := &grammar{ids: map[string]symbol{}, quiet: map[symbol]bool{}, lexical: map[symbol]bool{}}
	for _, name := range lexicalNames {
		g.lexical[g.id(name)] = true
	}
	var lhs symbol
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
		case line[0] != ' ':
			lhs = g.id(fields[0])
			if len(fields) > 1 && fields[1] == "quiet" {
				g.quiet[lhs] = true
			}
		default:
			if err := g.read(lhs, line); err != nil {
				return nil, fmt.Errorf("grammar.txt:%d: %w", i+1, err)
			}
		}
	}
	if err := g.check(); err != nil {
		return nil, fmt.Errorf("grammar.txt: %w", err)
	}
	g.index()
	return g, nil
}

func (g *grammar) id(name string) symbol {
	s, ok := g.ids[name]
	if !ok {
		s = symbol(len(g.names)) //nolint:gosec // the symbols of the grammar
		g.ids[name] = s
		g.names = append(g.names, name)
	}
	return s
}

// isWord reports whether a name of the grammar is a word, not a symbol with rules.
func isWord(name string) bool { return name == strings.ToLower(name) }

// read adds the rule of one line: elements, then "= action" or "= 'constant'", then "+cost".
func (g *grammar) read(lhs symbol, line string) error {
	r := &rule{lhs: lhs, source: strings.TrimSpace(line)}
	body, action := line, ""
	if i := strings.LastIndex(line, " = "); i >= 0 {
		body, action = line[:i], line[i+3:]
	}
	body, action = strings.TrimSpace(body), strings.TrimSpace(action)
	for _, part := range []*string{&body, &action} {
		if i := strings.LastIndex(*part, " +"); i >= 0 {
			if n, err := strconv.Atoi((*part)[i+2:]); err == nil {
				r.cost, *part = n, strings.TrimSpace((*part)[:i])
			}
		}
	}
	if text, ok := strings.CutPrefix(action, "'"); ok {
		r.constant = strings.TrimSuffix(text, "'")
	} else if action != "" {
		r.action = action
		if r.act = actions[action]; r.act == nil {
			return fmt.Errorf("unknown action %q", action)
		}
	}
	for field := range strings.FieldsSeq(body) {
		r.elements = append(r.elements, g.element(field))
	}
	g.rules = append(g.rules, r)
	return nil
}

func (g *grammar) element(field string) element {
	var e element
	if label, rest, ok := strings.Cut(field, ":"); ok && label != "" {
		e.label, field = label, rest
	}
	switch field[len(field)-1] {
	case '?':
		e.optional = true
	case '*':
		e.optional, e.repeated = true, true
	case '+':
		e.repeated = true
	}
	field = strings.TrimRight(field, "?*+")
	known := len(g.names)
	e.sym = g.id(field)
	if strings.Contains(field, "/") && int(e.sym) == known {
		for word := range strings.SplitSeq(field, "/") {
			g.rules = append(g.rules, &rule{lhs: e.sym, elements: []element{{sym: g.id(word)}}, source: word})
		}
	}
	return e
}

// check finds rules that would ignore the meaning of an element, symbols without rules, and symbols
// that consist of themselves.
func (g *grammar) check() error {
	defined := map[symbol]bool{}
	for _, r := range g.rules {
		defined[r.lhs] = true
	}
	single := map[symbol][]symbol{}
	for _, r := range g.rules {
		labels, required := 0, 0
		for _, e := range r.elements {
			name := g.names[e.sym]
			if !isWord(name) && !defined[e.sym] && !g.lexical[e.sym] {
				return fmt.Errorf("%s is not defined", name)
			}
			if e.label != "" {
				labels++
			} else if !isWord(name) && !g.quiet[e.sym] && !g.quiet[r.lhs] {
				return fmt.Errorf("%s: nothing uses %s in %q", g.names[r.lhs], name, r.source)
			}
			if !e.optional {
				required++
			}
		}
		if r.act == nil && labels > 1 || r.act != nil && labels == 0 && r.constant != "" {
			return fmt.Errorf("%s: %q needs an action", g.names[r.lhs], r.source)
		}
		for _, e := range r.elements {
			if required == 0 || required == 1 && !e.optional {
				single[r.lhs] = append(single[r.lhs], e.sym)
			}
		}
		if required == 0 {
			return fmt.Errorf("%s: %q may be empty", g.names[r.lhs], r.source)
		}
	}
	return g.cycles(single)
}

// cycles fails when a symbol can consist of itself and nothing else.
func (g *grammar) cycles(single map[symbol][]symbol) error {
	const open, done = 1, 2
	state := map[symbol]int{}
	var visit func(s symbol) error
	visit = func(s symbol) error {
		switch state[s] {
		case open:
			return fmt.Errorf("%s may consist of itself", g.names[s])
		case done:
			return nil
		}
		state[s] = open
		for _, part := range single[s] {
			if err := visit(part); err != nil {
				return err
			}
		}
		state[s] = done
		return nil
	}
	for s := range g.names {
		if err := visit(symbol(s)); err != nil {
			return err
		}
	}
	return nil
}

// index computes begins and corners.
func (g *grammar) index() {
	g.begins = make([][]beginning, len(g.names))
	g.corners = make([]bitset, len(g.names))
	for s := range g.names {
		g.corners[s] = newBitset(len(g.names))
		g.corners[s].add(symbol(s))
	}
	for i, r := range g.rules {
		for k, e := range r.elements {
			g.begins[e.sym] = append(g.begins[e.sym], beginning{i, k})
			g.corners[r.lhs].add(e.sym)
			if !e.optional {
				break
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for s := range g.corners {
			for part := range g.corners {
				if part != s && g.corners[s].has(symbol(part)) && g.corners[s].union(g.corners[part]) {
					changed = true
				}
			}
		}
	}
}

// bitset is a set of symbols.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(s symbol)      { b[s/64] |= 1 << (s % 64) }
func (b bitset) has(s symbol) bool { return b[s/64]&(1<<(s%64)) != 0 }

// union adds the members of a set of the same size and reports whether there were new ones.
func (b bitset) union(with bitset) bool {
	changed := false
	for i, bits := range with {
		changed = changed || bits&^b[i] != 0
		b[i] |= bits
	}
	return changed
}
