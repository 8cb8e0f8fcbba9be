package main

import (
	"bytes"
	"fmt"
	"time"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections"
)

// certified puts the result of a certificate into words.
func certified(c projections.Certificate) string {
	switch {
	case c.Equal && c.Swapped:
		return "equal, swapped"
	case c.Equal:
		return "equal"
	case c.Accepted:
		return "differed, accepted and swapped"
	default:
		return "DIFFERS, nothing was changed"
	}
}

// printCertificate writes a certificate and examples of rows that differ.
func printCertificate(s terminal.Screen, c projections.Certificate) {
	how := terminal.BoldGreen
	if !c.Equal {
		how = terminal.BoldRed
	}
	fmt.Fprintf(s, "  %s  (certificate %d, position %s, %s)\n\n", s.Paint(how, certified(c)), c.ID, terminal.Thousands(c.Position), c.At.Format(time.RFC3339))
	terminal.List(func(p projections.TableProof) []string {
		state := "equal"
		if !p.Equal() {
			state = fmt.Sprintf("%d missing, %d surplus, %d changed", p.Missing, p.Surplus, p.Changed)
		}
		return []string{
			p.Table, terminal.Thousands(p.Rows), terminal.Thousands(p.LiveRows), terminal.Thousands(p.Accounts), terminal.Thousands(p.AccountsDiffering), p.DigestRebuilt[:min(12, len(p.DigestRebuilt))], state,
		}
	}, "TABLE", "ROWS", "LIVE", "ACCOUNTS", "DIFFERING", "DIGEST", "")(s, c.Tables)
	printSnapshots(s, c.Snapshots)
	printUnreadable(s, c)
	printDifferences(s, c)
	fmt.Fprintf(s, "\n  %s events in %.1f s, %s a second", terminal.Thousands(c.Events), c.DurationSeconds, terminal.Thousands(int64(c.EventsPerSecond)))
	if c.Swapped {
		fmt.Fprintf(s, "; the swap delayed writers for %.1f ms", c.HeldSeconds*1000)
	}
	fmt.Fprintln(s)
}

// printUnreadable names the streams that this program could not judge.
func printUnreadable(s terminal.Screen, c projections.Certificate) {
	if c.UnreadableStreams == 0 {
		return
	}
	fmt.Fprintf(s, "\n  %s: %s streams have events that this program cannot read. Their accounts were left out\n"+
		"  of the tables of these streams. Verify with the newest release.\n",
		s.Paint(terminal.BoldYellow, "NOT JUDGED"), terminal.Thousands(c.UnreadableStreams))
	for _, u := range c.Unreadable {
		fmt.Fprintf(s, "  %s: %s\n", u.Stream, u.Type)
	}
}

// printDifferences writes examples of rows that differ: each live value, and in parentheses the value
// from the log.
func printDifferences(s terminal.Screen, c projections.Certificate) {
	for _, p := range c.Tables {
		for _, d := range p.Examples {
			name := p.Table + " " + d.ID
			if d.Account != d.ID {
				name += " of " + d.Account
			}
			if d.Kind != "changed" {
				fmt.Fprintf(s, "\n  %s: %s", name, d.Kind)
				continue
			}
			fmt.Fprintf(s, "\n  %s:", name)
			printFields(s, d.Fields)
		}
		if len(p.Examples) > 0 {
			fmt.Fprintln(s)
		}
	}
}

// printFields writes each differing value, and in parentheses the value from the log.
func printFields(s terminal.Screen, fields []projections.FieldDifference) {
	for i, f := range fields {
		if i > 0 {
			fmt.Fprint(s, ",")
		}
		fmt.Fprintf(s, " %s %s (log: %s)", f.Name, brief(f.Live), brief(f.Log))
	}
}

// printSnapshots writes how many snapshots were compared, and names those that differ.
func printSnapshots(s terminal.Screen, c *projections.Snapshots) {
	if c == nil || c.Compared+c.OtherShape == 0 {
		return
	}
	state := "equal"
	if c.Differing > 0 {
		state = s.Paint(terminal.BoldRed, terminal.Thousands(c.Differing)+" DIFFER")
	}
	fmt.Fprintf(s, "\n  %s snapshots of streams: %s", terminal.Thousands(c.Compared), state)
	if c.OtherShape > 0 {
		fmt.Fprintf(s, "; %s of another release, not compared and not used", terminal.Thousands(c.OtherShape))
	}
	fmt.Fprintln(s)
	for _, d := range c.Examples {
		fmt.Fprintf(s, "  %s at version %d:", d.Stream, d.Version)
		printFields(s, d.Fields)
		fmt.Fprintln(s)
	}
}

// briefBytes is the number of bytes of a value that are shown.
const briefBytes = 60

// brief cuts a long value.
func brief(v []byte) []byte {
	if len(v) <= briefBytes {
		return v
	}
	return append(bytes.ToValidUTF8(v[:briefBytes:briefBytes], nil), "…"...)
}
