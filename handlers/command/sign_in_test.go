package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
)

var atHome = Browser{Name: "Firefox on Linux", Network: "192.0.2.0/24", RequestID: "req_1"}

// signInFlow records the events of sessions, links and passkeys.
func signInFlow(t *testing.T, w *world) {
	t.Helper()
	ctx := t.Context()
	link, _, err := w.CreateSignInLink(ctx, "jo", "")
	require.NoError(t, err)
	opened, err := w.UseSignInLink(ctx, link, atHome)
	require.NoError(t, err)
	caller := Caller{AccountID: opened.AccountID, Livemode: true, RequestID: "req_1"}
	w.clock.advance(time.Hour)
	require.NoError(t, w.RefreshSession(ctx, opened.Session, "req_1"))
	require.NoError(t, w.EndSession(ctx, caller, opened.ID))
	require.NoError(t, w.RegisterPasskey(ctx, caller, NewPasskey{CredentialID: "credential", PublicKey: "key", Browser: "b"}))
	passkeyID := stateOf(w, passkeys, caller.AccountID).Keys[0].ID
	other, err := w.OpenPasskeySession(ctx, UsedPasskey{AccountID: caller.AccountID, PasskeyID: passkeyID, Proof: "challenge"}, atHome)
	require.NoError(t, err)
	require.NoError(t, w.RemovePasskey(ctx, caller, passkeyID))
	require.NoError(t, w.RevokeSession(ctx, caller, other.ID))
}

// stored returns all events as text.
func stored(w *world) string {
	w.t.Helper()
	var all strings.Builder
	for _, r := range w.history() {
		raw, err := json.Marshal(r.Event)
		require.NoError(w.t, err)
		all.Write(raw)
	}
	return all.String()
}

// TestOperatorHasOneBalance signs the operator in and creates keys, in both orders.
func TestOperatorHasOneBalance(t *testing.T) {
	t.Parallel()
	for _, keyFirst := range []bool{true, false} {
		w := newWorld(t)
		issue := func() {
			key, err := w.IssueKey(t.Context(), NewKey{AccountID: OperatorAccount(), Mode: account.Live, Operator: "jo"})
			require.NoError(t, err)
			require.Equal(t, OperatorAccount(), key.AccountID)
		}
		if keyFirst {
			issue()
		}
		link, _, err := w.CreateSignInLink(t.Context(), "jo", "")
		require.NoError(t, err)
		_, err = w.UseSignInLink(t.Context(), link, atHome)
		require.NoError(t, err)
		issue()
		require.Equal(t, w.Limits.SignupGrantSeconds, stateOf(w, credits, OperatorAccount()).AvailableSeconds(), "one grant")
	}
}

func TestSignInLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	link, expires, err := w.CreateSignInLink(ctx, "jo", "")
	require.NoError(t, err)
	require.Equal(t, w.Now().Add(account.SignInLinkLife), expires)
	require.NotContains(t, stored(w), link, "the log has the hash only")

	opened, err := w.UseSignInLink(ctx, link, atHome)
	require.NoError(t, err)
	require.Equal(t, OperatorAccount(), opened.AccountID)
	require.Equal(t, account.ByLink, opened.Method)
	require.NotContains(t, stored(w), opened.Secret)
	require.Equal(t, account.HashSecret(opened.Secret), opened.SecretHash)

	again, _, err := w.CreateSignInLink(ctx, "jo", "")
	require.NoError(t, err)
	late, _, err := w.CreateSignInLink(ctx, "jo", "")
	require.NoError(t, err)
	second, err := w.UseSignInLink(ctx, again, atHome)
	require.NoError(t, err)
	require.Equal(t, opened.AccountID, second.AccountID, "the operator is one person")
	require.NotEqual(t, opened.Secret, second.Secret)
	w.clock.advance(account.SignInLinkLife)
	w.requireUnchanged(func() {
		for name, secret := range map[string]string{"used": link, "expired": late, "made up": "x", "empty": ""} {
			_, err := w.UseSignInLink(ctx, secret, atHome)
			require.True(t, fault.Has(err, fault.InvalidAPIKey), "a link that is %s: %v", name, err)
		}
	})
}

func TestAProofOpensOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	ada := Person{Issuer: "https://id.example", Subject: "ada", Proof: "state 1"}
	opened, err := w.OpenPersonSession(ctx, ada, atHome)
	require.NoError(t, err)
	require.Equal(t, account.OwnedID("https://id.example", "ada"), opened.AccountID)
	w.requireUnchanged(func() {
		for _, subject := range []string{"ada", "eve"} {
			_, err := w.OpenPersonSession(ctx, Person{Issuer: "https://id.example", Subject: subject, Proof: "state 1"}, atHome)
			require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
		}
	})
	caller := Caller{AccountID: opened.AccountID, Livemode: true, RequestID: "req_1"}
	require.NoError(t, w.RegisterPasskey(ctx, caller, NewPasskey{CredentialID: "c", PublicKey: "k", SignCount: 1}))
	used := UsedPasskey{AccountID: caller.AccountID, PasskeyID: stateOf(w, passkeys, caller.AccountID).Keys[0].ID, SignCount: 2, Proof: "challenge"}
	_, err = w.OpenPasskeySession(ctx, used, atHome)
	require.NoError(t, err)
	w.requireUnchanged(func() {
		used.SignCount = 3
		_, err = w.OpenPasskeySession(ctx, used, atHome)
		require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
		used.SignCount, used.Proof = 2, "challenge 2"
		_, err = w.OpenPasskeySession(ctx, used, atHome)
		require.True(t, fault.Has(err, fault.InvalidAPIKey), "a copy of the passkey: %v", err)
	})
}

func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	sessions := map[string]OpenedSession{}
	for _, name := range []string{"ada", "eve"} {
		opened, err := w.OpenPersonSession(ctx, Person{Issuer: "https://id.example", Subject: name, Proof: name}, atHome)
		require.NoError(t, err)
		sessions[name] = opened
	}
	eve := Caller{AccountID: sessions["eve"].AccountID, Livemode: true, RequestID: "req_1"}
	w.requireUnchanged(func() {
		err := w.RevokeSession(ctx, eve, sessions["ada"].ID)
		require.True(t, fault.Has(err, fault.ResourceNotFound), "%v", err)
	})
	require.NoError(t, w.RevokeAnySession(ctx, sessions["ada"].Session, "jo", ""))
	require.True(t, stateOf(w, personSessions, sessions["ada"].ID).Revoked)
}

func TestARestrictedAccountOpensNoSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	opened, err := w.OpenPersonSession(ctx, Person{Issuer: "https://id.example", Subject: "ada", Proof: "1"}, atHome)
	require.NoError(t, err)
	caller := Caller{AccountID: opened.AccountID, Livemode: true, RequestID: "req_1"}
	require.NoError(t, w.RegisterPasskey(ctx, caller, NewPasskey{CredentialID: "c", PublicKey: "k"}))
	passkeyID := stateOf(w, passkeys, caller.AccountID).Keys[0].ID
	require.NoError(t, w.RestrictAccount(ctx, opened.AccountID, "abuse", "jo", ""))
	w.requireUnchanged(func() {
		_, err := w.OpenPersonSession(ctx, Person{Issuer: "https://id.example", Subject: "ada", Proof: "2"}, atHome)
		require.True(t, fault.Has(err, fault.AccountRestricted), "%v", err)
		_, err = w.OpenPasskeySession(ctx, UsedPasskey{AccountID: caller.AccountID, PasskeyID: passkeyID, Proof: "3"}, atHome)
		require.True(t, fault.Has(err, fault.AccountRestricted), "%v", err)
	})
}
