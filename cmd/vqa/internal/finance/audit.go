package finance

import (
	"fmt"
	"strings"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/audit"
)

// PrintAudit writes what an audit verified.
func PrintAudit(s terminal.Screen, r audit.Report) {
	fmt.Fprintf(s, "  %s entries of %s ledgers", terminal.Thousands(r.Entries), terminal.Thousands(r.Accounts))
	if r.Events > r.Entries {
		fmt.Fprintf(s, ", %s events of %s streams in all", terminal.Thousands(r.Events), terminal.Thousands(r.Streams))
	}
	fmt.Fprintf(s, "\n  all ledger accounts together hold %s s\n", terminal.Thousands(r.SumSeconds))
	printLog(s, r.Log)
}

// PrintMismatches writes every mismatch.
func PrintMismatches(s terminal.Screen, r audit.Report) {
	if r.Sound() {
		return
	}
	var counts []string
	for _, kind := range r.Kinds() {
		counts = append(counts, fmt.Sprintf("%s %s", terminal.Thousands(r.Counts[kind]), kind))
	}
	fmt.Fprintf(s, "  %s\n\n", s.Paint(terminal.BoldRed, "mismatches: "+strings.Join(counts, ", ")))
	t := terminal.Table{{"ACCOUNT", "KIND", "STREAM", "VERSION", "POSITION", "WHAT"}}
	for _, m := range r.Mismatches {
		t = append(t, []string{m.AccountID, string(m.Kind), m.Stream, fmt.Sprint(m.Version), fmt.Sprint(m.Position), m.Detail})
	}
	t.Print(s)
	if r.LeftOut > 0 {
		fmt.Fprintf(s, "  and %s more\n", terminal.Thousands(r.LeftOut))
	}
}

// printLog writes the facts about the whole log.
func printLog(s terminal.Screen, l *audit.LogFacts) {
	if l == nil {
		return
	}
	macs := "checked"
	if !l.MACsChecked {
		macs = "not checked, because this program has no key"
	}
	fmt.Fprintf(s, "  the log ends at position %s; MACs: %s\n", terminal.Thousands(l.Position), macs)
	fmt.Fprintf(s, "  %s snapshots and %s rows of other read models were checked\n", terminal.Thousands(l.Snapshots), terminal.Thousands(l.Rows))
	if len(l.Stale) > 0 {
		fmt.Fprintf(s, "  not compared, because they wait for a rebuild: %s\n", strings.Join(l.Stale, ", "))
	}
	fmt.Fprintf(s, "  %s gaps between positions (%s positions), %s times before that of an earlier position: normal operation causes them\n",
		terminal.Thousands(l.Gaps), terminal.Thousands(l.Skipped), terminal.Thousands(l.Backwards))
}
