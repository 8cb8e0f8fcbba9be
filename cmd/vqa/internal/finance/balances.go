package finance

import (
	"fmt"
	"time"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/projections/ledger/book"
)

// Proof compares the read model with the log.
type Proof struct {
	Equal bool `json:"equal"`
	// Entries is the number of folded entries.
	Entries     int64             `json:"entries"`
	Differences []book.Difference `json:"differences"`
}

// Balances is the output of `vqa ledger balance`.
type Balances struct {
	book.Balances
	Proof *Proof `json:"proof,omitempty"`
}

// PrintBalances writes the balances of the accounts and of the platform, and the proof.
func PrintBalances(out terminal.Screen, b Balances) {
	t := terminal.Table{{"LEDGER ACCOUNT", "SECONDS"}}
	add := func(a credit.LedgerAccount, seconds int64) {
		t = append(t, []string{string(a), terminal.Thousands(seconds)})
	}
	for _, a := range b.Accounts {
		add(credit.Available(a.AccountID), a.AvailableSeconds)
		add(credit.Reserved(a.AccountID), a.HeldSeconds)
	}
	for _, p := range b.Platform {
		add(p.Account, p.Seconds)
	}
	t = append(t, []string{"sum", terminal.Thousands(b.SumSeconds)})
	t.Print(out)
	if b.At != nil {
		fmt.Fprintf(out, "\n  folded from the log up to %s\n", b.At.Format(time.RFC3339))
	}
	switch p := b.Proof; {
	case p == nil:
	case p.Equal:
		fmt.Fprintf(out, "\n  %s: %s entries of the log give the same balances\n", out.Paint(terminal.BoldGreen, "proven"), terminal.Thousands(p.Entries))
	default:
		fmt.Fprintf(out, "\n  %s: the log gives other balances for %d accounts\n", out.Paint(terminal.BoldRed, "NOT PROVEN"), len(p.Differences))
		for _, d := range p.Differences {
			fmt.Fprintf(out, "  %s  read model %s, log %s\n", d.AccountID, inWords(d.ReadModel), inWords(d.Log))
		}
	}
}

// inWords describes one side of a difference.
func inWords(a *book.Account) string {
	if a == nil {
		return "has none"
	}
	return fmt.Sprintf("posted %s held %s %+v", terminal.Thousands(a.PostedSeconds), terminal.Thousands(a.HeldSeconds), a.Totals)
}

// PrintHolds writes the open holds.
func PrintHolds(out terminal.Screen, holds []book.HeldBy, now time.Time) {
	t := terminal.Table{{"HOLD", "ACCOUNT", "SECONDS", "SOURCE", "AGE", "EXPIRES"}}
	for _, h := range holds {
		expires := "in " + h.ExpiresAt.Sub(now).Truncate(time.Second).String()
		if !h.ExpiresAt.After(now) {
			expires = "expired"
		}
		t = append(t, []string{h.ID, h.AccountID, terminal.Thousands(h.Seconds), h.SourceID, now.Sub(h.CreatedAt).Truncate(time.Second).String(), expires})
	}
	t.Print(out)
}
