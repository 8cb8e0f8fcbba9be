package finance

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
)

// PrintWhatIf writes the bills of the accounts as they were, and under the other prices.
func PrintWhatIf(out terminal.Screen, w book.WhatIf) {
	t := terminal.Table{{"ACCOUNT", "SECONDS", "THEN", "CHANGE", "CENTS", "THEN", "CHANGE", "NOTE"}}
	row := func(name string, c book.Comparison, note string) {
		t = append(t, []string{
			name, terminal.Thousands(c.Now.Seconds), terminal.Thousands(c.Then.Seconds), terminal.Signed(c.Difference.Seconds),
			c.Now.Cents.String(), c.Then.Cents.String(), signedCents(c.Difference.Cents), note,
		})
	}
	for _, a := range w.Accounts {
		note := ""
		if a.RanOutAt != nil {
			note = "runs out " + a.RanOutAt.UTC().Format(time.DateTime)
		}
		row(a.AccountID, a.Comparison, note)
	}
	row("total", w.Total, "")
	t.Print(out)
	if w.RanOut > 0 {
		fmt.Fprintf(out, "\n  %s\n", out.Paint(terminal.BoldYellow, fmt.Sprintf("%d accounts would have run out of credits", w.RanOut)))
	}
	fmt.Fprintln(out, "\n  Nothing was written.")
}

func signedCents(d decimal.Decimal) string {
	if d.IsPositive() {
		return "+" + d.String()
	}
	return d.String()
}
