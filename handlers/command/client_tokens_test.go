package command

import (
	"encoding/json"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
)

func token(scopes ...string) MintClientToken {
	return MintClientToken{Scopes: scopes, Life: account.DefaultClientTokenLife}
}

func TestMintClientToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	order := token("analyses:read")
	order.VideoID = w.readyVideo(caller)
	before := len(w.history())
	minted, err := w.MintClientToken(t.Context(), caller, order)
	require.NoError(t, err)
	require.Equal(t, w.Now().Add(account.DefaultClientTokenLife), minted.ExpiresAt)
	require.Equal(t, account.HashSecret(minted.Secret), minted.SecretHash)
	require.Equal(t, minted.ClientToken, stateOf(w, clientTokens, minted.ID))

	recorded := w.history()[before:]
	require.Equal(t, []string{"client_token.minted"}, types(recorded))
	require.Equal(t, caller.AccountID, recorded[0].Meta.AccountID)
	require.Equal(t, caller.KeyID, recorded[0].Meta.Actor)
	data, err := json.Marshal(recorded)
	require.NoError(t, err)
	require.NotContains(t, string(data), minted.Secret, "the log contains no secret")

	forStream := token("streams:signal")
	forStream.StreamID = w.stream(caller).ID
	for range 2 { // while the stream waits for a slot, and after its end
		minted, err = w.MintClientToken(t.Context(), caller, forStream)
		require.NoError(t, err)
		require.Equal(t, forStream.StreamID, minted.StreamID)
		_, err = w.EndStream(t.Context(), caller, forStream.StreamID)
		require.NoError(t, err)
	}
}

func TestMintClientTokenRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, stranger := w.account(100), w.account(100)
	ofStranger := token("analyses:read")
	ofStranger.VideoID = w.readyVideo(stranger)
	removed := token("analyses:read")
	removed.VideoID = w.readyVideo(caller)
	require.NoError(t, w.DeleteVideo(t.Context(), caller, removed.VideoID))
	limited, person, ofToken, test := caller, caller, caller, caller
	limited.Scopes, person.KeyID, ofToken.TokenID, test.Livemode = []string{"videos:read"}, "", "ct_1", false
	ofLive := token("analyses:read")
	ofLive.VideoID = w.readyVideo(caller)
	forStream := func(streamID string) MintClientToken {
		order := token("streams:signal")
		order.StreamID = streamID
		return order
	}
	own, foreign := w.stream(caller).ID, w.stream(stranger).ID

	tests := map[string]struct {
		caller Caller
		order  MintClientToken
		want   fault.Code
	}{
		"another's video":                 {caller, ofStranger, fault.ResourceNotFound},
		"a removed video":                 {caller, removed, fault.ResourceNotFound},
		"a live video by test mode":       {test, ofLive, fault.ResourceNotFound},
		"another's stream":                {caller, forStream(foreign), fault.ResourceNotFound},
		"an unknown stream":               {caller, forStream(w.IDs.New(id.Stream)), fault.ResourceNotFound},
		"a live stream by test mode":      {test, forStream(own), fault.ResourceNotFound},
		"beyond the key":                  {limited, token("videos:write"), fault.InsufficientScope},
		"by a person":                     {person, token("analyses:read"), fault.InsufficientScope},
		"by a client token":               {ofToken, token("analyses:read"), fault.InsufficientScope},
		"a scope that tokens cannot have": {caller, token("usage:read"), fault.ValidationFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w.requireUnchanged(func() {
				_, err := w.MintClientToken(t.Context(), tt.caller, tt.order)
				requireFault(t, err, tt.want)
				if tt.want == fault.ResourceNotFound {
					require.Equal(t, map[bool]string{true: "video_id", false: "stream_id"}[tt.order.VideoID != ""], fault.Of(err).Param)
				}
			})
		})
	}
	w.Entropy = iotest.ErrReader(iotest.ErrTimeout)
	_, err := w.MintClientToken(t.Context(), caller, token("analyses:read"))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// TestSignIn: simultaneous first requests of a person open one account.
func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := len(w.history())
	errs := together(20, func(int) error {
		_, err := w.SignIn(t.Context(), Person{Issuer: "https://id.example", Subject: "ann"}, "req_1")
		return err
	})
	require.Equal(t, map[string]int{"ok": 20}, tally(errs))
	recorded := w.history()[before:]
	require.Equal(t, []string{"account.opened", "account.signed_up"}, types(recorded))
	require.Equal(t, "session", recorded[0].Meta.Actor)

	accountID, err := w.SignIn(t.Context(), Person{Issuer: "https://id.example", Subject: "ann"}, "req_2")
	require.NoError(t, err)
	a := stateOf(w, accounts, accountID)
	require.Equal(t, account.Paid, a.Tier)
	require.Equal(t, account.OwnerHash("https://id.example", "ann"), a.Owner)
	other, err := w.SignIn(t.Context(), Person{Issuer: "https://id.example", Subject: "bob"}, "req_3")
	require.NoError(t, err)
	require.NotEqual(t, accountID, other)
}
