package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// hostile clears a screen, colors what follows, turns the reading order, hides itself and
// begins a line of its own.
const hostile = "a\x1b[2J\x1b[31m\u009b31m\u202e\u2066\u200b\ufeff\u2028\x7f\x07\r\nFORGED\tb"

// requireHarmless fails when text could steer a terminal, or when a value began a line.
func requireHarmless(t *testing.T, text, about string) {
	t.Helper()
	for line := range strings.Lines(text) {
		at := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r != '\t' && steers(r) })
		require.Negative(t, at, "%s printed %q", about, line)
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "FORGED"), "%s printed %q", about, line)
	}
}

// TestNothingPrintedSteersTheTerminal runs every subcommand that prints what others named,
// after everything was given a hostile name.
func TestNothingPrintedSteersTheTerminal(t *testing.T) {
	b := newToolbench(t)
	acct := b.key.AccountID
	var key issuedKey
	b.json(&key, "keys", "create", "--mode", "live", "--account", acct, "--name", hostile, "--json")
	var bought shownCredits
	b.json(&bought, "credits", "purchase", acct, "50", "--reason", hostile, "--idempotency-key", "k1", "--json")
	var incident shownIncident
	b.json(&incident, "incidents", "open", hostile, "--json")
	require.Equal(t, hostile, incident.Title, "JSON holds the same value")

	runs := map[string][]string{
		"keys create": {"--mode", "live", "--name", hostile}, "keys list": {"--account", acct},
		"keys revoke": {acct, key.KeyID}, "keys restrict": {acct, "--reason", hostile}, "keys unrestrict": {acct, "--reason", hostile},
		"keys import":  {"--account", acct, "--name", hostile},
		"credits show": {acct}, "credits grant": {acct, "5", "--reason", hostile, "--idempotency-key", "k2"},
		"credits purchase": {acct, "5", "--reason", hostile, "--idempotency-key", "k3"},
		"credits adjust":   {acct, "5", "--reason", hostile, "--idempotency-key", "k4"},
		"credits refund":   {acct, bought.TransactionID, "--reason", hostile, "--idempotency-key", "k5"},
		"incidents open":   {hostile}, "incidents list": nil, "incidents close": {incident.ID},
		"ledger balance": {acct}, "ledger holds": nil, "ledger journal": {acct}, "ledger statement": {acct}, "ledger verify": nil,
		"ledger whatif": {"--pricing", hostile}, "ledger checkpoint": nil, "ledger bundle": {acct, "-o", t.TempDir() + "/bundle"},
		"ledger export": {"--format", "csv", "-o", t.TempDir() + "/x.csv"},
		"events list":   nil, "events show": {"1"}, "events stats": nil, "events subscribers": nil, "events parked list": nil,
		"events parked show": {hostile, "1"}, "events parked retry": {hostile, "1"}, "events parked drop": {hostile, "1"},
		"events reset": {hostile, "--to", "end"}, "events replay": {hostile, "--from", "1", "--to", "2"},
		"show": {acct}, "why": {acct}, "projections list": nil, "projections verify": {"api_keys"}, "projections rebuild": {hostile},
		"migrate": nil, "config": nil, "version": nil, "eval": {hostile}, "ask": {hostile, hostile, "--url", hostile},
	}
	// These do not end by themselves, or look at the machine only; what they print of others
	// goes through the same writer.
	other := []string{"serve", "doctor", "events tail"}
	for _, leaf := range leaves(rootCommand()) {
		name := strings.TrimPrefix(leaf.CommandPath(), "vqa ")
		args, planned := runs[name]
		require.True(t, planned || slices.Contains(other, name), "no run is planned for vqa %s", name)
		if !planned {
			continue
		}
		out, complaint, err := b.run(append(strings.Fields(name), args...)...)
		requireHarmless(t, out, name)
		requireHarmless(t, complaint, name)
		if err != nil { // as main prints it
			var told bytes.Buffer
			fmt.Fprintln(escaping(&told), err)
			require.NotContains(t, told.String(), "\x1b", name)
			continue
		}
	}
}

// leaves are the commands below one that can be run, without those of cobra itself.
func leaves(cmd *cobra.Command) []*cobra.Command {
	if !cmd.HasSubCommands() {
		return []*cobra.Command{cmd}
	}
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		all = append(all, leaves(c)...)
	}
	return all
}

func TestEscaperKeepsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	value := map[string]string{"name": hostile + "\U000e0041"}
	require.NoError(t, printJSON(escaping(&out), value))
	requireHarmless(t, out.String(), "printJSON")
	var read map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, value, read)
}

func TestEscaper(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := escaping(&out)
	require.Same(t, e, escaping(e))
	s := screen{Writer: e, colour: true}
	fmt.Fprint(s, s.paint(boldRed, "NO\x1b[0m"), " é", "\xff", "\n")
	for _, part := range []byte("日") { // a character that comes in pieces
		n, err := e.Write([]byte{part})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	require.Equal(t, "\x1b[1;31mNO\\u001b[0m\x1b[0m é\\xff\n日", out.String())
	require.Equal(t, `a\u000ab\u0009\xff日\udb40\udc41`, printable("a\nb\t\xff日\U000e0041"))
}

func TestColumnsAreAlignedBesideEscapedText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns{{"NAME", "N"}, {"a\nb", "1"}, {"abcdefghi", "2"}}.print(newScreen(&out))
	require.Equal(t, "  NAME       N\n  a\\u000ab   1\n  abcdefghi  2\n", out.String())
}
