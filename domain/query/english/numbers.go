package english

import (
	"slices"

	"vqa/domain/query"
)

// numberActions are the meanings of rules about quantifiers and numbers.
var numberActions = map[string]func(*args) any{
	// Quantifiers.
	"a":   func(*args) any { return quantifier{} },
	"the": func(*args) any { return quantifier{definite: true} },
	"theirs": func(*args) any {
		return quantifier{definite: true, owner: "their"}
	},
	"counted1":  func(a *args) any { return a.get("q") },
	"other":     func(a *args) any { return otherThan{a.text("n")} },
	"theNumber": func(a *args) any { return theNumber(a.int("q")) },
	"countOf": func(a *args) any {
		q, _ := a.get("q").(quantifier)
		q.definite = true
		return q
	},
	"no":      func(*args) any { return quantifier{none: true} },
	"all":     func(*args) any { return quantifier{which: query.AllOf, definite: true} },
	"most":    func(*args) any { return quantifier{which: query.MostOf, definite: true} },
	"half":    func(*args) any { return nil },
	"only":    func(*args) any { return quantifier{which: query.OnlyOf} },
	"bothOf":  func(*args) any { return quantifier{which: query.AllOf, both: true, definite: true} },
	"another": func(*args) any { return atLeast(2) },
	"pair": func(*args) any {
		q := atLeast(2)
		q.pair = true
		return q
	},
	"several2": func(*args) any { return atLeast(2) },
	"several3": func(*args) any { return atLeast(3) },
	"many":     func(*args) any { return quantifier{marks: []query.Condition{marked(query.Subjective, "many")}} },
	"own":      func(*args) any { return quantifier{marks: []query.Condition{marked(query.Identity, "my")}} },
	"same":     func(*args) any { return quantifier{marks: []query.Condition{marked(query.Identity, "same")}} },
	"distinct": func(*args) any {
		return quantifier{marks: []query.Condition{marked(query.ExhaustiveCount, "different")}}
	},
	"distinctCount": func(a *args) any {
		q, _ := a.get("q").(quantifier)
		q.marks = append(slices.Clip(q.marks), marked(query.ExhaustiveCount, "different"))
		return q
	},

	// Numbers.
	"equal":     func(a *args) any { return counted(query.Equal, a.int("n")) },
	"moreThan":  func(a *args) any { return counted(query.MoreThan, a.int("n")) },
	"atLeast":   func(a *args) any { return counted(query.AtLeast, a.int("n")) },
	"fewerThan": func(a *args) any { return counted(query.FewerThan, a.int("n")) },
	"atMost":    func(a *args) any { return counted(query.AtMost, a.int("n")) },
	"more1":     func(*args) any { return atLeast(2) },
	"atLeast1":  func(*args) any { return atLeast(1) },
	"atLeast3":  func(*args) any { return atLeast(3) },
	"negateCount": func(a *args) any {
		q, _ := a.get("n").(quantifier)
		return counted(opposites[q.number.Op], q.number.Value)
	},
	"range": func(a *args) any {
		low, high := a.int("a"), a.int("b")
		if low == 0 || low >= high {
			return nil
		}
		q := atLeast(low)
		q.most = high
		return q
	},
	"rangeOr": func(a *args) any {
		low, high := a.int("a"), a.int("b")
		if low == 0 || high != low+1 {
			return nil
		}
		q := atLeast(low)
		q.most = high
		return q
	},
	"sumNumber": func(a *args) any {
		tens, ones := a.int("a"), a.int("b")
		if tens < 20 || tens > 90 || tens%10 != 0 || ones < 1 || ones > 9 {
			return nil
		}
		return tens + ones
	},
	"hundreds":  func(a *args) any { return a.int("n")*100 + a.int("b") },
	"hundred":   func(*args) any { return 100 },
	"thousands": func(a *args) any { return a.int("n") * 1000 },
	"dozens":    func(a *args) any { return a.int("n") * 12 },
	"dozen":     func(*args) any { return 12 },
	"halfDozen": func(*args) any { return 6 },
	"oneNumber": func(*args) any { return 1 },
}

func (a *args) int(label string) int { n, _ := a.get(label).(int); return n }

func counted(op query.Comparison, n int) quantifier {
	return quantifier{number: &query.Quantity{Op: op, Value: n}}
}

func atLeast(n int) quantifier { return counted(query.AtLeast, n) }

// theNumber is "the two dogs": it presupposes that there are two.
func theNumber(n int) quantifier {
	q := counted(query.Equal, n)
	q.definite = true
	return q
}

// numbered is a phrase whose comparison follows the noun: "three dogs or more".
func numbered(a *args, op query.Comparison) any {
	p := thing(a.text("n"))
	switch q := a.get("q").(type) {
	case int:
		p.quantifier = counted(op, q)
	case quantifier:
		if q.number.Op != query.Equal {
			return nil
		}
		p.quantifier = counted(op, q.number.Value)
	}
	return p
}
