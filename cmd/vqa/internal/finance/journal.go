package finance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
)

// PrintJournal writes the entries of an account, or of all accounts when accountID is empty. A limit
// of 0 means all entries.
func PrintJournal(ctx context.Context, out io.Writer, s *book.Snapshot, accountID string, p book.Period, limit int, asJSON bool) error {
	entries := s.InOrder(ctx)
	if accountID != "" {
		entries = s.Entries(ctx, accountID)
	}
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	screen, n := terminal.NewScreen(out), 0
	for e, err := range entries {
		if err != nil {
			return err
		}
		if p.Side(e.Booked) != 0 {
			continue
		}
		if asJSON {
			err = lines.Encode(e)
		} else {
			err = printEntry(screen, e, n == 0)
		}
		if err != nil {
			return err
		}
		if n++; n == limit {
			return nil
		}
	}
	if n == 0 && !asJSON {
		fmt.Fprintln(out, "  No entries.")
	}
	return nil
}

// printEntry writes an entry with its postings.
func printEntry(out terminal.Screen, e book.Entry, first bool) error {
	var b strings.Builder
	if !first {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s  %s  %s  %s\n", out.Paint(terminal.Dim, e.At.UTC().Format(time.DateTime)), out.Paint(terminal.Bold, string(e.Kind)), e.ID,
		out.Paint(terminal.Dim, fmt.Sprintf("version %d, position %d", e.Version, e.Position)))
	width := 0
	for _, p := range e.Postings {
		width = max(width, utf8.RuneCountInString(string(p.Account)))
	}
	for _, p := range e.Postings {
		fmt.Fprintf(&b, "    %-*s  %14s\n", width, p.Account, terminal.Signed(p.Seconds))
	}
	if len(e.Postings) == 0 {
		fmt.Fprintf(&b, "    %s  moves nothing\n", e.AccountID)
	}
	var about []string
	for _, fact := range [][2]string{
		{"for", string(e.SourceType) + " " + e.SourceID}, {"refunds", e.Refunds}, {"reason:", e.Reason}, {"by", e.Actor}, {"request", e.RequestID},
	} {
		if value := strings.TrimSpace(fact[1]); value != "" {
			about = append(about, fact[0]+" "+terminal.Printable(value))
		}
	}
	if e.DiscountPct > 0 {
		about = append(about, fmt.Sprintf("discount %d %%", e.DiscountPct))
	}
	if len(about) > 0 {
		fmt.Fprintf(&b, "    %s\n", out.Paint(terminal.Dim, strings.Join(about, " · ")))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
