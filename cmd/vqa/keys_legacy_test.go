package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// TestLegacyKeysAndRestrictions runs the subcommands on a real database. It is not parallel because
// the commands read the environment.
func TestLegacyKeysAndRestrictions(t *testing.T) {
	c := toolConfig(t)
	t.Setenv("VQA_DATABASE_URL", c.DatabaseURL)
	t.Setenv("VQA_DATA_DIR", c.DataDir)
	vqa := func(into any, in string, args ...string) error {
		t.Helper()
		var out, complaint bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetIn(strings.NewReader(in))
		root.SetOut(&out)
		root.SetErr(&complaint)
		if err := root.ExecuteContext(t.Context()); err != nil {
			return err
		}
		require.NotContains(t, out.String()+complaint.String(), "pk_0123456789abcdefXYZ", "the secret is not shown")
		if into == nil {
			return nil
		}
		return json.Unmarshal(out.Bytes(), into)
	}
	var one, two issuedKey
	require.NoError(t, vqa(&one, "", "keys", "create", "--mode", "live", "--json"))
	require.NoError(t, vqa(&two, "", "keys", "create", "--mode", "live", "--json"))

	var imported importedKey
	secret := "pk_0123456789abcdefXYZ"
	require.NoError(t, vqa(&imported, secret+"\n", "keys", "import", "--account", one.AccountID, "--name", "old", "--json"))
	require.Regexp(t, "^key_", imported.KeyID)
	require.Regexp(t, "^req_", imported.RequestID)
	for _, accountID := range []string{one.AccountID, two.AccountID} {
		err := vqa(nil, secret, "keys", "import", "--account", accountID, "--name", "old")
		require.True(t, fault.Has(err, fault.ResourceConflict), "a secret opens one account: %v", err)
	}
	err := vqa(nil, "svc_live_0123456789abcdef", "keys", "import", "--account", one.AccountID, "--name", "new")
	require.True(t, fault.Has(err, fault.ValidationFailed), "%v", err)
	require.ErrorIs(t, vqa(nil, secret, "keys", "import", "--name", "old"), exitUsage)

	statuses := func() (all []string) {
		var keys []listedKey
		require.NoError(t, vqa(&keys, "", "keys", "list", "--account", one.AccountID, "--json"))
		for _, k := range keys {
			all = append(all, k.Name+" "+k.Status)
		}
		return all
	}
	require.Equal(t, []string{"old active", " active"}, statuses())
	require.ErrorIs(t, vqa(nil, "", "keys", "restrict", one.AccountID), exitUsage, "a reason is required")
	require.NoError(t, vqa(nil, "", "keys", "restrict", one.AccountID, "--reason", "chargeback"))
	require.Equal(t, []string{"old restricted", " restricted"}, statuses())
	require.NoError(t, vqa(nil, "", "keys", "unrestrict", one.AccountID, "--reason", "settled"))
	require.Equal(t, []string{"old active", " active"}, statuses())
	err = vqa(nil, "", "keys", "restrict", "acct_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "--reason", "x")
	require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
}
