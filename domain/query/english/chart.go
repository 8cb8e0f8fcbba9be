package english

import (
	"cmp"
	"reflect"
	"slices"
)

const (
	// maxTrees bounds the readings that are kept of each symbol and span.
	maxTrees = 4
	// maxExtra bounds by how much a reading may cost more than the best one.
	maxExtra = 3
)

// leaf is a reading of one or more words as a symbol.
type leaf struct {
	sym   symbol
	from  int
	cost  int
	value any
}

// tree is one way to read a span of words as a symbol, and its meaning.
type tree struct {
	cost  int
	value any
}

// node is a symbol over a span of words with all ways to read it.
type node struct {
	sym      symbol
	from, to int
	leaves   []tree
	ways     []*active
	trees    []tree
	read     bool
	next     int32 // the next node with the same symbol and end, or -1
}

// active is a rule that has been read up to and including one of its elements.
type active struct {
	rule    int
	element int
	from    int
	steps   []step
	partial []partial
	read    bool
	next    *active // the next one with the same rule and end
}

// step says how an active came about: prev, or nothing, and then child.
type step struct {
	prev  *active
	child int32
}

// partial is one way to read the first elements of a rule.
type partial struct {
	cost    int
	prev    *partial
	element int
	value   any
}

type waiter struct {
	active  *active
	element int
	next    int32
}

// chart finds all ways to read a sentence. It is an Earley parser that keeps every way, so that the
// costs are only compared among readings of the whole sentence.
type chart struct {
	g     *grammar
	words []token
	nodes []node
	// ending are the nodes that end at the current position, by symbol, and rules the actives.
	ending  []int32
	rules   []*active
	waiters []waiter
	waiting []int32 // by position and symbol, into waiters
	wanted  []bitset
	agenda  []int32
}

// parse returns the readings of words as the symbol start, the cheapest first. leaves returns those
// of the word or words that end at a position.
func (g *grammar) parse(words []token, leaves func(end int) []leaf, start symbol) []tree {
	n := len(words)
	c := &chart{
		g: g, words: words, ending: fill(len(g.names)), rules: make([]*active, len(g.rules)),
		waiting: fill((n + 1) * len(g.names)), wanted: make([]bitset, n+1),
	}
	c.wanted[0] = g.corners[start]
	for end := 1; end <= n; end++ {
		for i := range c.ending {
			c.ending[i] = -1
		}
		clear(c.rules)
		for _, l := range leaves(end) {
			if c.wanted[l.from].has(l.sym) {
				nd := &c.nodes[c.node(l.sym, l.from, end)]
				nd.leaves = append(nd.leaves, tree{l.cost, l.value})
			}
		}
		for len(c.agenda) > 0 {
			id := c.agenda[len(c.agenda)-1]
			c.agenda = c.agenda[:len(c.agenda)-1]
			c.use(id, end)
		}
		c.predict(end)
	}
	for id := c.ending[start]; id >= 0; id = c.nodes[id].next {
		if c.nodes[id].from == 0 {
			return c.trees(id)
		}
	}
	return nil
}

func fill(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

// node finds or makes a node that ends at the current position.
func (c *chart) node(sym symbol, from, to int) int32 {
	for id := c.ending[sym]; id >= 0; id = c.nodes[id].next {
		if c.nodes[id].from == from {
			return id
		}
	}
	id := int32(len(c.nodes)) //nolint:gosec // bounded by the length of a prompt
	c.nodes = append(c.nodes, node{sym: sym, from: from, to: to, next: c.ending[sym]})
	c.ending[sym] = id
	c.agenda = append(c.agenda, id)
	return id
}

// use begins and continues rules with a node.
func (c *chart) use(id int32, end int) {
	sym, from := c.nodes[id].sym, c.nodes[id].from
	for w := c.waiting[from*len(c.g.names)+int(sym)]; w >= 0; w = c.waiters[w].next {
		a := c.waiters[w].active
		c.advance(a.rule, c.waiters[w].element, a.from, end, step{a, id})
	}
	for _, b := range c.g.begins[sym] {
		if c.wanted[from].has(c.g.rules[b.rule].lhs) {
			c.advance(b.rule, b.element, from, end, step{nil, id})
		}
	}
}

// advance reads one more element of a rule.
func (c *chart) advance(r, e, from, end int, s step) {
	for a := c.rules[r]; a != nil; a = a.next {
		if a.element == e && a.from == from {
			a.steps = append(a.steps, s)
			return
		}
	}
	a := &active{rule: r, element: e, from: from, steps: []step{s}, next: c.rules[r]}
	c.rules[r] = a
	elements := c.g.rules[r].elements
	if elements[e].repeated {
		c.wait(a, e, end)
	}
	for k := e + 1; ; k++ {
		if k == len(elements) {
			nd := &c.nodes[c.node(c.g.rules[r].lhs, from, end)]
			nd.ways = append(nd.ways, a)
			return
		}
		c.wait(a, k, end)
		if !elements[k].optional {
			return
		}
	}
}

func (c *chart) wait(a *active, e, end int) {
	head := &c.waiting[end*len(c.g.names)+int(c.g.rules[a.rule].elements[e].sym)]
	c.waiters = append(c.waiters, waiter{a, e, *head})
	*head = int32(len(c.waiters) - 1) //nolint:gosec // bounded by the length of a prompt
}

// predict notes which symbols can begin at a position.
func (c *chart) predict(at int) {
	c.wanted[at] = newBitset(len(c.g.names))
	row := c.waiting[at*len(c.g.names) : (at+1)*len(c.g.names)]
	for sym, head := range row {
		if head >= 0 && !c.wanted[at].has(symbol(sym)) {
			c.wanted[at].union(c.g.corners[sym])
		}
	}
}

// keep is how many readings of a symbol are kept.
func (c *chart) keep(sym symbol) int {
	if c.g.quiet[sym] {
		return 1
	}
	return maxTrees
}

// trees returns the best readings of a node that have a meaning, each meaning once.
func (c *chart) trees(id int32) []tree {
	nd := &c.nodes[id]
	if nd.read {
		return nd.trees
	}
	type candidate struct {
		tree
		rule *rule
		last *partial
	}
	var all []candidate
	for _, t := range nd.leaves {
		all = append(all, candidate{tree: t})
	}
	for _, a := range nd.ways {
		r := c.g.rules[a.rule]
		for i := range c.partials(a) {
			p := &a.partial[i]
			all = append(all, candidate{tree: tree{cost: p.cost + r.cost}, rule: r, last: p})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var out []tree
	for _, t := range all {
		if len(out) == c.keep(nd.sym) || len(out) > 0 && t.cost > out[0].cost+maxExtra {
			break
		}
		if t.rule != nil {
			t.value = c.meaning(t.rule, t.last, nd)
		}
		if t.value != nil && !slices.ContainsFunc(out, func(o tree) bool { return reflect.DeepEqual(o.value, t.value) }) {
			out = append(out, t.tree)
		}
	}
	nd.trees, nd.read = out, true
	return out
}

// partials returns the best ways to read the elements of an active.
func (c *chart) partials(a *active) []partial {
	if a.read {
		return a.partial
	}
	var all []partial
	for _, s := range a.steps {
		children := c.trees(s.child)
		if s.prev == nil {
			for _, t := range children {
				all = append(all, partial{t.cost, nil, a.element, t.value})
			}
			continue
		}
		before := c.partials(s.prev)
		for i := range before {
			for _, t := range children {
				all = append(all, partial{before[i].cost + t.cost, &before[i], a.element, t.value})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y partial) int { return cmp.Compare(x.cost, y.cost) })
	if n := 2 * c.keep(c.g.rules[a.rule].lhs); len(all) > n {
		all = all[:n]
	}
	a.partial, a.read = all, true
	return all
}

// meaning applies the action of a rule. It is nil when the parts make no sense together, or when the
// action did not use one of them: no part of a question is ignored.
func (c *chart) meaning(r *rule, last *partial, nd *node) any {
	if r.act == nil && r.constant != "" {
		return r.constant
	}
	var a args
	for p := last; p != nil; p = p.prev {
		e := r.elements[p.element]
		if e.label == "" {
			continue
		}
		if p.value == nil {
			return nil
		}
		if r.act == nil {
			return p.value
		}
		a.put(e, p.value)
	}
	if r.act == nil {
		return text(c.words[nd.from:nd.to])
	}
	v := r.act(&a)
	if !a.allUsed() {
		return nil
	}
	return v
}

// args are the values of the labeled elements of a rule.
type args struct {
	n      int
	labels [8]string
	values [8]any
	used   [8]bool
}

// put adds a value; the values are put from last to first.
func (a *args) put(e element, v any) {
	if e.repeated {
		for i := range a.n {
			if a.labels[i] == e.label {
				a.values[i] = append([]any{v}, a.values[i].([]any)...)
				return
			}
		}
		v = []any{v}
	}
	a.labels[a.n], a.values[a.n] = e.label, v
	a.n++
}

// get returns the value of a label, or nil when the question has no such part.
func (a *args) get(label string) any {
	for i := range a.n {
		if a.labels[i] == label {
			a.used[i] = true
			return a.values[i]
		}
	}
	return nil
}

func (a *args) allUsed() bool { return !slices.Contains(a.used[:a.n], false) }
