package english

import "strconv"

// timeActions are the meanings of rules about times.
var timeActions = map[string]func(*args) any{
	"beginning":     constant("beginning"),
	"middle":        constant("middle"),
	"end":           constant("end"),
	"firstHalf":     constant("first half"),
	"secondHalf":    constant("second half"),
	"firsts":        func(a *args) any { return "first " + clockText(a.length()) + " s" },
	"lasts":         func(a *args) any { return "last " + clockText(a.length()) + " s" },
	"firstHalfUnit": func(a *args) any { return "first " + clockText(a.unit()/2) + " s" },
	"halfUnit":      func(a *args) any { return a.unit() / 2 },
	"decimal":       func(a *args) any { return a.seconds("d") * a.unit() },
	"span":          func(a *args) any { return span(a.seconds("a"), a.seconds("b")) },
	"spanN": func(a *args) any {
		from, to := float64(a.int("n")), a.seconds("b")
		if to >= 60 && from < to/60 {
			from *= 60
		}
		return span(from, to)
	},
	"spanU":   func(a *args) any { u := a.unit(); return span(float64(a.int("n"))*u, float64(a.int("b"))*u) },
	"afterT":  func(a *args) any { return "after " + clockText(a.seconds("a")) + " s" },
	"beforeT": func(a *args) any { return "before " + clockText(a.seconds("a")) + " s" },
	"atT":     func(a *args) any { return "at " + clockText(a.seconds("a")) + " s" },
	"seconds": func(a *args) any { return float64(a.int("n")) * a.unit() },
	"addTime": func(a *args) any { return a.seconds("a") + a.seconds("b") },
}

func clockText(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

func (a *args) seconds(label string) float64 { s, _ := a.get(label).(float64); return s }

func (a *args) unit() float64 {
	switch a.text("u") {
	case "minute":
		return 60
	case "hour":
		return 3600
	}
	return 1
}

// length is a number of seconds: "10 seconds", "2.5 minutes", "minute".
func (a *args) length() float64 {
	n := float64(a.int("n"))
	if d := a.seconds("d"); d > 0 {
		n = d
	}
	if n == 0 {
		n = 1
	}
	return n * a.unit()
}

func constant(v string) func(*args) any { return func(*args) any { return v } }

// span is a window from one time to another. n is nil, or a number in the unit of b.
func span(from, to float64) any {
	if from >= to {
		return nil
	}
	return clockText(from) + " to " + clockText(to) + " s"
}
