package credit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	granted := Granted{AccountID: "a", TransactionID: "t1", Kind: Purchase, Seconds: 100, BalanceAfter: 100, At: time.Unix(1, 0)}
	held := Held{AccountID: "a", HoldID: "h1", Seconds: 60, SourceType: SourceAnalysis, SourceID: "an_1"}
	var empty State
	rich := Evolve(empty, granted)
	busy := Evolve(rich, held)
	settled := Settled{AccountID: "a", HoldID: "h1", TransactionID: "t2", Kind: AnalysisDebit, SourceType: SourceAnalysis, SourceID: "an_1", Seconds: 45, HeldSeconds: 60, BalanceAfter: 55}
	released := Released{AccountID: "a", HoldID: "h1", SourceType: SourceAnalysis, SourceID: "an_1", Seconds: 60}
	extended := Extended{AccountID: "a", HoldID: "h1", SourceType: SourceAnalysis, SourceID: "an_1", Seconds: 10, HeldSeconds: 70}
	for name, c := range map[string]struct {
		state State
		event Event
	}{"grant": {empty, granted}, "hold": {rich, held}, "debit": {busy, settled}, "release": {busy, released}, "extension": {busy, extended}} {
		require.Empty(t, Examine(c.state, "a", c.event), name)
	}
	more := func(change func(*Extended)) Extended { e := extended; change(&e); return e }
	changed := func(change func(*Settled)) Settled { s := settled; change(&s); return s }
	raised := granted
	raised.Seconds = 9_100
	for name, c := range map[string]struct {
		state State
		event Event
		want  string
	}{
		"a raised grant":      {empty, raised, "contains a balance of 100 s, but the entries sum to 9100 s"},
		"no balance":          {empty, held, "-60 s are available"},
		"a second hold":       {busy, held, "already has the open hold h1"},
		"another account":     {rich, Held{AccountID: "b", SourceID: "x"}, "names the account b"},
		"a negative hold":     {rich, Held{AccountID: "a", SourceID: "x", Seconds: -5}, "-5 s"},
		"an unknown kind":     {rich, Granted{AccountID: "a", Kind: "gift", Seconds: 1}, "unknown transaction kind"},
		"a debit alone":       {rich, settled, "the hold h1 of an_1 is not open"},
		"another hold":        {busy, changed(func(s *Settled) { s.HoldID = "h2" }), "h1 is the open hold"},
		"another reservation": {busy, changed(func(s *Settled) { s.HeldSeconds = 50 }), "has 60 s, not 50 s"},
		"no hold to extend":   {rich, extended, "is not open"},
		"another extension":   {busy, more(func(e *Extended) { e.HoldID = "h2" }), "h1 is the open hold"},
		"a wrong extension":   {busy, more(func(e *Extended) { e.HeldSeconds = 71 }), "has 60 s, not 61 s"},
		"an empty extension":  {busy, more(func(e *Extended) { e.Seconds, e.HeldSeconds = 0, 60 }), "0 s"},
		"too much extended":   {busy, more(func(e *Extended) { e.Seconds, e.HeldSeconds = 41, 101 }), "-1 s are available"},
		"other seconds":       {busy, Released{AccountID: "a", HoldID: "h1", SourceType: SourceAnalysis, SourceID: "an_1", Seconds: 40}, "has 60 s, not 40 s"},
		"above the maximum":   {busy, Held{AccountID: "a", SourceID: "x", Seconds: MaxSeconds + 1}, "which its kind cannot have"},
		"too much billed":     {busy, changed(func(s *Settled) { s.Seconds, s.BalanceAfter = 101, -1 }), "-1 s are available"},
		"a wrong balance":     {busy, changed(func(s *Settled) { s.BalanceAfter = 100 }), "entries sum to 55 s"},
	} {
		require.Contains(t, Examine(c.state, "a", c.event), c.want, name)
	}
}
