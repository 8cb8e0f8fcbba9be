package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsageNamesTheArgument runs every subcommand without arguments and with too many.
func TestUsageNamesTheArgument(t *testing.T) {
	t.Parallel()
	complain := func(path string, args ...string) string {
		var said bytes.Buffer
		root := rootCommand()
		root.SetArgs(append(strings.Fields(path)[1:], args...))
		root.SetOut(io.Discard)
		root.SetErr(&said)
		require.ErrorIs(t, root.ExecuteContext(t.Context()), exitUsage, path)
		return said.String()
	}
	word := regexp.MustCompile(`^[A-Z_|]+$`)
	for _, leaf := range leaves(rootCommand()) {
		words := strings.Fields(leaf.Use)[1:]
		if len(words) > 0 && word.MatchString(words[0]) {
			if words[0] == "NAME|--all" {
				continue
			}
			said := complain(leaf.CommandPath())
			require.Contains(t, said, words[0], leaf.CommandPath())
			require.Contains(t, said, "missing", leaf.CommandPath())
		}
		if strings.Contains(leaf.Use, "…") {
			continue
		}
		require.Contains(t, complain(leaf.CommandPath(), "1", "2", "3", "4", "\x1bfive"), "one argument too many", leaf.CommandPath())
	}
	require.Contains(t, complain("vqa ask", "clip.mp4"), "vqa: PROMPT is missing\n")
	require.Contains(t, complain("vqa ask"), "vqa: FILE|URL|VIDEO and PROMPT are missing\n")
	require.Contains(t, complain("vqa credits grant", "a", "5", "6"), `"6" is one argument too many after ACCOUNT SECONDS`)
	require.Contains(t, complain("vqa config", "x"), `"x" is one argument too many: this command takes none`)
}

// TestHelpHasGroupsAndVersion checks that each command is in a group of the help, and both forms of the version.
func TestHelpHasGroupsAndVersion(t *testing.T) {
	t.Parallel()
	said := func(args ...string) string {
		var out bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(&out)
		require.NoError(t, root.ExecuteContext(t.Context()))
		return out.String()
	}
	help := said()
	require.Contains(t, help, "Run the service:\n")
	_, others, _ := strings.Cut(help, "Additional Commands:\n")
	others, _, _ = strings.Cut(others, "\n\n")
	require.Regexp(t, `^  completion .*\n  help .*\n  version .*$`, others)
	require.Contains(t, said("ledger"), "Usage:\n  vqa ledger COMMAND\n")
	require.Equal(t, said("version"), said("--version"))
}

// TestOwnAccountIsTheDefault checks that ACCOUNT defaults to the account of the stored key.
func TestOwnAccountIsTheDefault(t *testing.T) {
	b := newToolbench(t)
	commands := [][]string{{"keys", "list"}, {"credits", "show"}, {"ledger", "statement"}, {"ledger", "bundle", "-o", t.TempDir() + "/b"}}
	for _, args := range commands {
		_, complaint, err := b.run(args...)
		require.ErrorIs(t, err, exitUsage, args)
		require.Contains(t, complaint, "ACCOUNT is missing", args)
	}
	require.NoError(t, os.MkdirAll(b.config.DataDir, 0o700))
	require.NoError(t, writeKey(storedKeyPath(b.config), storedKey{AccountID: b.key.AccountID, APIKey: b.key.APIKey}))
	_, complaint, err := b.run("ledger", "checkpoint") // a bundle needs one
	require.NoError(t, err, complaint)
	for _, args := range commands {
		out, complaint, err := b.run(args...)
		require.NoError(t, err, "%s: %s", args, complaint)
		require.Contains(t, complaint, b.key.AccountID, args)
		if args[1] != "bundle" { // bundle prints only the path
			require.Contains(t, out, b.key.AccountID, args)
		}
	}
}

func TestUsageHasItsExitStatus(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"ak"}, {"--nonsense"}, {"keys", "lost"}, {"ledger", "keys", "lost"}, {"events", "parked", "lost"}, {"keys", "create", "--nonsense"},
		{"ask"}, {"ask", "one.mp4"}, {"ask", "a", "b", "--nonsense"}, {"eval"}, {"version", "x"},
		{"keys", "create"}, {"keys", "create", "--mode", "test", "--grant-seconds", "5"}, {"keys", "revoke", "a"},
		{"credits", "grant", "acct", "ten", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "grant", "acct", "-5", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "grant", "acct", "5", "--kind", "purchase", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "refund", "acct", "txn", "0", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "refund", "acct", "txn", "x", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "refund", "acct", "txn"}, {"credits", "refund", "acct", "--reason", "r", "--idempotency-key", "k"},
		{"credits", "grant", "acct", "5", "--reason", "r"}, {"credits", "grant", "acct", "5", "--idempotency-key", "k"},
	} {
		var complaint bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(io.Discard)
		root.SetErr(&complaint)
		require.ErrorIs(t, root.ExecuteContext(t.Context()), exitUsage, "%v", args)
		require.Contains(t, complaint.String(), "vqa:")
	}
}
