package finance

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

// PricedStatement is a statement with the current price, which is a setting and not part of the
// ledger.
type PricedStatement struct {
	book.Statement
	PricePerSecondCents decimal.Decimal `json:"price_per_second_cents"`
}

func (s PricedStatement) dollars(seconds int64) string {
	return export.Dollars(seconds, s.PricePerSecondCents)
}

// PrintStatement writes a statement as tables.
func PrintStatement(out terminal.Screen, s PricedStatement) {
	fmt.Fprintf(out, "  %s  %s  (credit-seconds, dollars at %s US cents a second, times in UTC)\n\n",
		out.Paint(terminal.Bold, s.AccountID), export.PeriodName(s.Statement), s.PricePerSecondCents)
	t := terminal.Table{{"WHEN", "KIND", "SECONDS", "DOLLARS", "BALANCE", "FOR"}}
	t = append(t, []string{"opening balance", "", "-", "-", terminal.Thousands(s.Opening.PostedSeconds), ""})
	for _, x := range s.Transactions {
		what := terminal.Printable(x.SourceID)
		if x.Refunds != "" {
			what = "refunds " + x.Refunds
		}
		if x.Reason != "" {
			what = terminal.Printable(x.Reason)
		}
		t = append(t, []string{x.At.UTC().Format(time.DateTime), string(x.Kind), terminal.Signed(x.SecondsDelta), s.dollars(x.SecondsDelta), terminal.Thousands(x.BalanceAfter), what})
	}
	change := s.Closing.PostedSeconds - s.Opening.PostedSeconds
	t = append(t, []string{"closing balance", "", terminal.Signed(change), s.dollars(change), terminal.Thousands(s.Closing.PostedSeconds), ""})
	t.Print(out)
	fmt.Fprintf(out, "\n  worth %s, of this held %s s (%s), available %s s (%s)\n", s.dollars(s.Closing.PostedSeconds),
		terminal.Thousands(s.Closing.HeldSeconds), s.dollars(s.Closing.HeldSeconds), terminal.Thousands(s.Closing.AvailableSeconds), s.dollars(s.Closing.AvailableSeconds))
	if len(s.Totals) > 0 {
		fmt.Fprintln(out)
		totals := terminal.Table{{"TOTAL OF", "COUNT", "SECONDS", "DOLLARS"}}
		for _, k := range s.Totals {
			totals = append(totals, []string{string(k.Kind), terminal.Thousands(k.Count), terminal.Signed(k.Seconds), s.dollars(k.Seconds)})
		}
		totals.Print(out)
	}
	if len(s.Holds) > 0 {
		fmt.Fprintln(out)
		holds := terminal.Table{{"OPEN HOLD", "SECONDS", "SOURCE", "SINCE", "EXPIRES"}}
		for _, h := range s.Holds {
			holds = append(holds, []string{h.ID, terminal.Thousands(h.Seconds), h.SourceID, h.CreatedAt.UTC().Format(time.DateTime), h.ExpiresAt.UTC().Format(time.DateTime)})
		}
		holds.Print(out)
	}
}
