package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/grant"
	"vqa/domain/id"
	"vqa/handlers/command"
)

// hostile clears a screen, changes the color and the reading order, hides itself and starts a new line.
const hostile = "a\x1b[2J\x1b[31m\u009b31m\u202e\u2066\u200b\ufeff\u2028\x7f\x07\r\nFORGED\tb"

// requireHarmless fails when text contains control characters, or when a hostile value starts a line.
func requireHarmless(t *testing.T, text, about string) {
	t.Helper()
	for line := range strings.Lines(text) {
		at := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) })
		require.Negative(t, at, "%s printed %q", about, line)
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "FORGED"), "%s printed %q", about, line)
	}
}

// TestNothingPrintedSteersTheTerminal runs every subcommand that prints names from other people, after
// every name was set to a hostile one.
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

	person := command.Caller{AccountID: acct, Livemode: true, RequestID: "req_1"}
	permission := grant.Terms{GrantID: id.NewSource(time.Now, rand.Reader).New(id.Grant), Livemode: true, ClientID: hostile, ClientName: hostile, RedirectURI: hostile, Resource: hostile, Scope: "mcp"}
	a, err := openApp(t.Context(), b.config, slog.New(slog.DiscardHandler), adapters{})
	require.NoError(t, err)
	_, err = a.commands.ApproveAgent(t.Context(), person, permission, hostile)
	require.NoError(t, errors.Join(err, a.Close()))

	t.Setenv("VQA_INFERENCE_URL", serving(t, hostile)) // of vqa models

	runs := map[string][]string{
		"grants list": {"--account", acct}, "grants revoke": {acct, permission.GrantID},
		"keys create": {"--mode", "live", "--name", hostile}, "keys list": {"--account", acct},
		"keys revoke": {acct, key.KeyID}, "keys restrict": {acct, "--reason", hostile}, "keys unrestrict": {acct, "--reason", hostile},
		"keys import":  {"--account", acct, "--name", hostile},
		"credits show": {acct}, "credits grant": {acct, "5", "--reason", hostile, "--idempotency-key", "k2"},
		"credits purchase": {acct, "5", "--reason", hostile, "--idempotency-key", "k3"},
		"credits adjust":   {acct, "5", "--reason", hostile, "--idempotency-key", "k4"},
		"credits refund":   {acct, bought.TransactionID, "--reason", hostile, "--idempotency-key", "k5"},
		"incidents open":   {hostile}, "incidents list": nil, "incidents close": {incident.ID},
		"ledger balance": {acct}, "ledger holds": nil, "ledger journal": {acct}, "ledger statement": {acct}, "ledger verify": nil, "ledger witnesses": nil,
		"ledger whatif": {"--pricing", hostile}, "ledger checkpoint": nil, "ledger keys list": nil, "ledger keys rotate": {"--reason", hostile}, "ledger keys replace": {"--reason", hostile},
		"ledger keys revoke": {"--key", hostile, "--reason", hostile}, "ledger restart": {"--reason", hostile}, "ledger bundle": {acct, "-o", t.TempDir() + "/bundle"},
		"ledger export": {"--format", "csv", "-o", t.TempDir() + "/x.csv"},
		"events list":   nil, "events show": {"1"}, "events stats": nil, "events subscribers": nil, "events parked list": nil,
		"events parked show": {hostile, "1"}, "events parked retry": {hostile, "1"}, "events parked drop": {hostile, "1"},
		"events reset": {hostile, "--to", "end"}, "events replay": {hostile, "--from", "1", "--to", "2"},
		"show": {acct}, "why": {acct}, "signin": nil, "sessions list": nil, "sessions revoke": {hostile}, "projections list": nil, "projections verify": {"api_keys"}, "projections rebuild": {hostile},
		"migrate": nil, "config": nil, "version": nil, "nodes adopt": {"--key"}, "nodes list": nil, "webhooks verify": nil, "models": nil, "listen": {"--forward-to", hostile}, "trigger": {hostile}, "eval": {hostile}, "calibrate": {hostile}, "ask": {hostile, hostile, "--url", hostile},
		"stream": {hostile, hostile, "--url", hostile}, "backup": {t.TempDir() + "/no/" + hostile}, "restore": {hostile},
	}
	// These commands do not end by themselves, or print only facts about the machine. They use the same
	// writer.
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
		if err != nil { // main prints it in this way
			var told bytes.Buffer
			fmt.Fprintln(terminal.Escape(&told), err)
			require.NotContains(t, told.String(), "\x1b", name)
			continue
		}
	}
}

// leaves returns the commands below cmd that can be run, without cobra's own commands.
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
