package main

import (
	"fmt"
	"strings"
	"time"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/projections/history"
)

// gutterForm is the form of the time to the left of a tree.
const gutterForm = "15:04:05.000"

// printWhy draws one tree per request.
func printWhy(s terminal.Screen, x history.Explanation) {
	if x.Earlier > 0 {
		fmt.Fprintln(s, s.Paint(terminal.Dim, fmt.Sprintf("… at least %s (--limit shows more)", counted(int64(x.Earlier), "earlier request"))))
	}
	for i, c := range x.Chains {
		if i > 0 || x.Earlier > 0 {
			fmt.Fprintln(s)
		}
		request := c.RequestID
		if request == "" {
			request = "(no request)"
		}
		fmt.Fprintf(s, "%s  %s", s.Paint(terminal.Bold, terminal.Printable(request)), s.Paint(terminal.Dim, stamp(c.BeganAt)+" UTC"))
		if c.Actor != "" {
			fmt.Fprintf(s, "  by %s", terminal.Printable(c.Actor))
		}
		if a := c.Agent; a != nil {
			fmt.Fprintf(s, " (agent %q, %s)", terminal.Printable(a.Name), terminal.Printable(a.ClientID))
		}
		fmt.Fprintf(s, "  %s in all\n", rough(c.EndedAt.Sub(c.BeganAt)))
		branches{s, x.ID, c.Actor, map[string]bool{}}.draw(c.Steps, "")
	}
}

// branches draws the steps of one tree.
type branches struct {
	terminal.Screen
	// asked is the id that the user gave; actor made the request.
	asked, actor string
	// named has the streams whose ids are already in the tree.
	named map[string]bool
}

// leastRun is the number of similar steps in a row that are drawn as one.
const leastRun = 3

func (b branches) draw(steps []*history.Step, indent string) {
	for i := 0; i < len(steps); i++ {
		first, last := i, i
		for last+1 < len(steps) && alike(steps[first], steps[last+1]) {
			last++
		}
		if last-first+1 < leastRun {
			last = first
		}
		i = last
		branch, below := "├─ ", "│  "
		if last == len(steps)-1 {
			branch, below = "└─ ", "   "
		}
		step := steps[first]
		text := b.step(step)
		if last > first {
			text = fmt.Sprintf("%s %s %s", b.Paint(terminal.Bold, step.Event.Type), b.Paint(terminal.Dim, fmt.Sprintf("×%d", last-first+1)),
				b.Paint(terminal.Dim, summary(step.Event.Data)+" → "+summary(steps[last].Event.Data)))
		}
		b.line(steps[last], first == last, indent+branch, text)
		if step.Job != nil {
			for _, e := range step.Job.Errors {
				fmt.Fprintf(b, "%24s%s %s\n", "", indent+below+"│ ", b.Paint(terminal.BoldRed, firstLine(e.Error, 200)))
			}
		}
		b.draw(steps[last].Steps, indent+below)
	}
}

// line prints one step with its time. A run of steps has no time since the previous step.
func (b branches) line(s *history.Step, single bool, tree, text string) {
	after := ""
	if single {
		after = "+" + rough(max(0, time.Duration(s.AfterSeconds*float64(time.Second))))
	}
	fmt.Fprintf(b, "%s %s  %s%s\n", b.Paint(terminal.Dim, s.At.UTC().Format(gutterForm)), b.Paint(terminal.Dim, fmt.Sprintf("%9s", after)), tree, text)
}

// alike reports whether two steps are events of one type and stream without consequences.
func alike(a, b *history.Step) bool {
	return a.Event != nil && b.Event != nil && a.Event.Type == b.Event.Type && a.Event.Stream == b.Event.Stream &&
		a.Event.Entry == nil && len(a.Steps) == 0 && len(b.Steps) == 0
}

func (b branches) step(s *history.Step) string {
	if s.Job != nil {
		return b.job(*s.Job)
	}
	e := s.Event
	text := b.Paint(terminal.Bold, e.Type) + b.Paint(terminal.Dim, fmt.Sprintf(" #%d", e.Position))
	if !b.named[e.Stream] {
		b.named[e.Stream] = true
		_, id, _ := strings.Cut(e.Stream, "/")
		text += "  " + id
	}
	if e.Entry != nil {
		text += "  " + b.entry(*e.Entry)
	} else if said := summary(e.Data); said != "" {
		text += "  " + said
	}
	if m := e.ParsedMeta(); m.Actor != b.actor && m.Actor != "" {
		text += b.Paint(terminal.Dim, "  by "+terminal.Printable(m.Actor))
	}
	if b.asked == fmt.Sprint(e.Position) || e.Entry != nil && b.asked == e.Entry.TransactionID {
		text += b.Paint(terminal.BoldYellow, "  ◀")
	}
	return text
}

func (b branches) job(j history.Job) string {
	how, state := terminal.Green, j.State
	if j.Lost {
		state = "lost"
	}
	switch state {
	case "completed":
	case "discarded", "cancelled", "retryable", "lost":
		how = terminal.BoldRed
	default:
		how = terminal.BoldYellow
	}
	text := fmt.Sprintf("%s %s  %s  attempt %d", b.Paint(terminal.Bold, "job "+j.Kind), b.Paint(terminal.Dim, fmt.Sprintf("#%d", j.ID)), b.Paint(how, state), j.Attempt)
	if j.AttemptedAt == nil {
		return text
	}
	text += ", waited " + rough(max(0, j.AttemptedAt.Sub(j.CreatedAt)))
	if j.Lost {
		text += ", " + terminal.Printable(j.Node) + " is dead"
	}
	if j.FinalizedAt != nil {
		text += ", ran " + rough(max(0, j.FinalizedAt.Sub(*j.AttemptedAt)))
	}
	return text
}

// entry formats the postings of a ledger entry, in seconds.
func (b branches) entry(e history.Entry) string {
	var moved []string
	for _, p := range e.Postings {
		moved = append(moved, ledgerName(p.Account)+" "+terminal.Signed(p.Seconds))
	}
	text := strings.Join(moved, ", ")
	if text == "" {
		text = "nothing moved"
	}
	if e.BalanceAfter != nil {
		text += fmt.Sprintf("; balance %s", b.Paint(terminal.Bold, terminal.Thousands(*e.BalanceAfter)))
	}
	if e.TransactionID != "" {
		text += "  " + b.Paint(terminal.Dim, string(e.Kind)+" "+e.TransactionID)
	}
	return text
}

// ledgerName is the name of a ledger account without its owner.
func ledgerName(a credit.LedgerAccount) string {
	_, name, _ := strings.Cut(string(a), ":")
	return name
}
