package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/command"
	"vqa/projections/ledger"
	"vqa/streaming/message"
)

// TestStreamsEndWithTheirCredential: a live stream ends within seconds of the restriction of its account, and of the
// end of the key or the session behind it. The client learns why, and pays up to the last heartbeat.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, _, _ := w.node("a", 9)
	issue := func(expires *time.Time) command.IssuedKey {
		key, err := w.commands.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 100, Operator: "test", ExpiresAt: expires})
		require.NoError(t, err)
		return key
	}
	revoke := func(k command.IssuedKey) error {
		return w.commands.RevokeKey(t.Context(), k.AccountID, k.KeyID, "test", "")
	}
	restrict := func(k command.IssuedKey) error {
		return w.commands.RestrictAccount(t.Context(), k.AccountID, "fraud", "test", "")
	}
	caller := func(k command.IssuedKey) command.Caller {
		return command.Caller{AccountID: k.AccountID, KeyID: k.KeyID, Livemode: true, Scopes: []string{"streams:create"}}
	}
	person := func(k command.IssuedKey) command.Caller {
		opened, err := w.commands.OpenPersonSession(t.Context(), command.Person{Issuer: "https://id.example", Subject: rand.Text(), Proof: k.KeyID}, command.Browser{RequestID: "req_1"})
		require.NoError(t, err)
		_, err = w.commands.GrantCredits(t.Context(), command.GrantCredits{
			CreditChange: command.CreditChange{AccountID: opened.AccountID, Reason: "test", Operator: "test"}, Kind: credit.Adjustment, Seconds: 100,
		})
		require.NoError(t, err)
		return command.Caller{AccountID: opened.AccountID, SessionID: opened.ID, Livemode: true}
	}
	endSession := func(k command.IssuedKey) error {
		s, _, err := w.read.SessionByID(t.Context(), account.SessionIDFor(k.KeyID))
		return errors.Join(err, w.commands.EndSession(t.Context(), command.Caller{AccountID: s.AccountID, RequestID: "req_1"}, s.ID))
	}
	revokeSession := func(k command.IssuedKey) error {
		s, _, err := w.read.SessionByID(t.Context(), account.SessionIDFor(k.KeyID))
		return errors.Join(err, w.commands.RevokeAnySession(t.Context(), s, "test", ""))
	}
	for name, tt := range map[string]struct {
		// key is issued by the test itself if it expires.
		key    command.IssuedKey
		caller func(command.IssuedKey) command.Caller
		end    func(command.IssuedKey) error
		code   fault.Code
	}{
		"restricted account": {issue(nil), caller, restrict, fault.AccountRestricted},
		"restricted account of a person": {issue(nil), func(k command.IssuedKey) command.Caller {
			return command.Caller{AccountID: k.AccountID, Livemode: true}
		}, restrict, fault.AccountRestricted},
		"revoked key": {issue(nil), caller, revoke, fault.KeyRevoked},
		"revoked key of a client token": {issue(nil), func(k command.IssuedKey) command.Caller {
			c := caller(k)
			token, err := w.commands.MintClientToken(t.Context(), c, command.MintClientToken{Scopes: []string{"streams:create"}, Life: time.Minute})
			require.NoError(t, err)
			c.TokenID = token.ID
			return c
		}, revoke, fault.KeyRevoked},
		"session that was signed out": {command.IssuedKey{KeyID: "proof 1"}, person, endSession, fault.InvalidAPIKey},
		"revoked session":             {command.IssuedKey{KeyID: "proof 2"}, person, revokeSession, fault.InvalidAPIKey},
		"expired key":                 {command.IssuedKey{}, caller, func(command.IssuedKey) error { return nil }, fault.KeyExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expires := tt.key.KeyID == ""
			if expires {
				tt.key = issue(new(time.Now().Add(5 * time.Second)))
			}
			prompt := "Is there a dog?"
			st, err := w.commands.CreateStream(t.Context(), tt.caller(tt.key), command.CreateStream{Prompt: &prompt})
			require.NoError(t, err)
			n.Fill(t.Context())
			owner := w.await(st.ID, func(st stream.State) bool { return st.Node != "" }).Node
			place, err := places{n}.Place(t.Context(), st.ID)
			require.NoError(t, err)
			sub := place.Session.Subscribe(-1)
			defer sub.Close()
			run := command.StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live"}
			if !expires { // nothing may take long before the key expires
				for _, c := range []stream.Command{stream.Offer{Node: owner}, stream.GoLive{Node: owner}} {
					_, _, err := w.commands.ChangeStream(t.Context(), run, c)
					require.NoError(t, err)
				}
				time.Sleep(2 * lookEvery) // a valid credential ends nothing
				require.Equal(t, stream.Live, w.await(st.ID, func(stream.State) bool { return true }).Status)
			}
			require.NoError(t, tt.end(tt.key))
			ended := w.await(st.ID, func(st stream.State) bool { return st.EndedAt != nil })
			require.Equal(t, stream.Failed, ended.Reason)
			require.Contains(t, ended.Detail, string(tt.code))
			require.Equal(t, int64(0), ended.Usage.BilledSeconds, "no picture came")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			said, err := sub.Next(ctx)
			require.NoError(t, err)
			require.Equal(t, tt.code, said.(message.Error).Code)
			end, err := sub.Next(ctx)
			require.NoError(t, err)
			require.Equal(t, message.ServerEnd{Reason: stream.Failed}, end)
		})
	}
}

// TestQueuedStreamsEndWithTheirCredential: a stream that waits for a slot ends within seconds too, and gives its place in
// the queue to the next one. Two nodes look at the same queue.
func TestQueuedStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, _, _ := w.node("a", 0) // no stream gets a slot
	w.node("b", 0)
	issue := func() (command.IssuedKey, stream.State) {
		key, err := w.commands.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 100, Operator: "test"})
		require.NoError(t, err)
		prompt := "Is there a dog?"
		caller := command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Scopes: []string{"streams:create"}}
		st, err := w.commands.CreateStream(t.Context(), caller, command.CreateStream{Prompt: &prompt})
		require.NoError(t, err)
		return key, st
	}
	restricted, first := issue()
	revoked, second := issue()
	_, third := issue()
	time.Sleep(2 * lookEvery) // a valid credential ends nothing
	require.Equal(t, stream.Queued, w.await(first.ID, func(stream.State) bool { return true }).Status)

	require.NoError(t, w.commands.RestrictAccount(t.Context(), restricted.AccountID, "fraud", "test", ""))
	require.NoError(t, w.commands.RevokeKey(t.Context(), revoked.AccountID, revoked.KeyID, "test", ""))
	began := time.Now()
	for code, st := range map[fault.Code]stream.State{fault.AccountRestricted: first, fault.KeyRevoked: second} {
		ended := w.await(st.ID, func(st stream.State) bool { return st.EndedAt != nil })
		require.Less(t, time.Since(began), 10*lookEvery, "on cores that other tests use too")
		require.Equal(t, stream.Failed, ended.Reason)
		require.Contains(t, ended.Detail, string(code))
		require.Zero(t, ended.Usage.BilledSeconds)
		place, err := places{n}.Place(t.Context(), st.ID)
		require.NoError(t, err)
		require.Equal(t, stream.Failed, place.Ended)
		require.True(t, fault.Has(place.Refused, code), "a client that waits learns why")
		balance, err := ledger.NewReader(w.pool).Balance(t.Context(), st.AccountID)
		require.NoError(t, err)
		require.EqualValues(t, 100, balance.AvailableSeconds(), "the hold is released")
	}
	place, err := places{n}.Place(t.Context(), third.ID)
	require.NoError(t, err)
	require.Equal(t, 1, place.Queued.Position)
}
