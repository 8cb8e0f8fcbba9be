package account_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

var tokens = scenario.Aggregate[account.ClientToken, account.MintClientToken, account.ClientTokenMinted]{
	Decide: account.DecideClientToken, Evolve: account.EvolveClientToken,
}

// mint returns a valid command, changed by the given functions.
func mint(changes ...func(*account.MintClientToken)) account.MintClientToken {
	c := account.MintClientToken{
		TokenID: "ct_1", AccountID: "acct_1", KeyID: "key_1", SecretHash: "hash", Scopes: []string{"analyses:read"},
		Life: account.DefaultClientTokenLife, VideoID: "video_1",
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func life(d time.Duration) func(*account.MintClientToken) {
	return func(c *account.MintClientToken) { c.Life = d }
}

func TestDecideClientToken(t *testing.T) {
	t.Parallel()
	minted := func(c account.MintClientToken) []account.ClientTokenMinted {
		return []account.ClientTokenMinted{{
			TokenID: "ct_1", AccountID: "acct_1", KeyID: "key_1", SecretHash: "hash", Scopes: c.Scopes, VideoID: c.VideoID,
			ExpiresAt: scenario.Now.Add(c.Life), At: scenario.Now,
		}}
	}
	writing := mint(func(c *account.MintClientToken) { c.KeyScopes = []string{"analyses:write"} })
	tokens.Run(t, []scenario.Case[account.MintClientToken, account.ClientTokenMinted]{
		{Name: "by a key of all scopes", When: mint(), Then: minted(mint())},
		{Name: "reading comes with the key's writing", When: writing, Then: minted(writing)},
		{Name: "the shortest life", When: mint(life(60 * time.Second)), Then: minted(mint(life(60 * time.Second)))},
		{Name: "too short a life", When: mint(life(59 * time.Second)), Refused: fault.ValidationFailed},
		{Name: "too long a life", When: mint(life(901 * time.Second)), Refused: fault.ValidationFailed},
		{
			Name: "a scope beyond the key's", Refused: fault.InsufficientScope,
			When: mint(func(c *account.MintClientToken) { c.KeyScopes = []string{"videos:write"} }),
		},
		{
			Name: "a key without any scope", Refused: fault.InsufficientScope,
			When: mint(func(c *account.MintClientToken) { c.KeyScopes = []string{} }),
		},
		{Name: "no scope", When: mint(func(c *account.MintClientToken) { c.Scopes = nil }), Refused: fault.ValidationFailed},
		{
			Name: "a scope that is for keys alone", Refused: fault.ValidationFailed,
			When: mint(func(c *account.MintClientToken) { c.Scopes = []string{"analyses:read", "keys:write"} }),
		},
		{Name: "two bindings", When: mint(func(c *account.MintClientToken) { c.StreamID = "st_1" }), Refused: fault.ValidationFailed},
		{Name: "an id that exists", Given: minted(mint()), When: mint(), Refused: fault.ResourceConflict},
	})
}

func TestClientTokenTable(t *testing.T) {
	t.Parallel()
	first, err := account.DecideClientToken(account.ClientToken{}, mint(), scenario.Now)
	require.NoError(t, err)
	given := map[string][]account.ClientTokenMinted{"(none)": nil, "minted": first}
	scenario.ReadTable(t, "client token").Check(t, []string{"(none)", "minted"}, []string{"Mint"},
		func(t *testing.T, state, _ string) (string, string) {
			token := tokens.Fold(given[state]...)
			events, err := account.DecideClientToken(token, mint(), scenario.Now)
			if token = tokens.Step(t, token, events...); token.ID == "" {
				return "(none)", scenario.Outcome(events, err)
			}
			return "minted", scenario.Outcome(events, err)
		})
}

// TestClientTokenViolationsAreAllNamed checks that one answer names every violation.
func TestClientTokenViolationsAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := account.DecideClientToken(account.ClientToken{}, mint(life(time.Second), func(c *account.MintClientToken) {
		c.Scopes, c.StreamID = []string{"analyses:read", "root"}, "st_1"
	}), scenario.Now)
	f := fault.Of(err)
	require.NotNil(t, f)
	var params []string
	for _, v := range f.Violations {
		params = append(params, v.Param)
	}
	require.Equal(t, []string{"scopes.1", "ttl_s", "stream_id"}, params)
}

func TestClientTokenEndsByTime(t *testing.T) {
	t.Parallel()
	events, err := account.DecideClientToken(account.ClientToken{}, mint(), scenario.Now)
	require.NoError(t, err)
	token := tokens.Fold(events...)
	require.NoError(t, token.Check(scenario.Now.Add(900*time.Second-time.Nanosecond)))
	require.True(t, fault.Has(token.Check(scenario.Now.Add(900*time.Second)), fault.TokenExpired))
}

func TestClientTokenSecret(t *testing.T) {
	t.Parallel()
	secret, err := account.NewClientTokenSecret(bytes.NewReader(make([]byte, 32)))
	require.NoError(t, err)
	require.Equal(t, "svcct_"+strings.Repeat("A", 43), secret)
	require.True(t, account.LooksLikeClientToken(secret))
	require.False(t, account.LooksLikeKey(secret), "a token does not look like a key")
	_, err = account.NewClientTokenSecret(iotest.ErrReader(errors.New("no entropy")))
	require.ErrorContains(t, err, "no entropy")
}

func TestScopes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		granted []string
		wanted  string
		want    bool
	}{
		{nil, "keys:write", true},
		{[]string{}, "videos:read", false},
		{[]string{}, "", true},
		{[]string{"videos:read"}, "videos:read", true},
		{[]string{"videos:write"}, "videos:read", true},
		{[]string{"videos:read"}, "videos:write", false},
		{[]string{"streams:create"}, "streams:read", true},
		{[]string{"streams:create"}, "streams:signal", false},
		{[]string{"streams:signal"}, "streams:read", false},
		{[]string{"analyses:write"}, "videos:read", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, account.Allows(tt.granted, tt.wanted), "%v grants %s", tt.granted, tt.wanted)
	}
	require.Equal(t, "keys:write", account.Exceeding([]string{"videos:write"}, []string{"videos:read", "keys:write"}))
	require.Empty(t, account.Exceeding(nil, account.Scopes()))
	for _, scope := range account.TokenScopes {
		require.True(t, slices.Contains(account.Scopes(), scope), scope)
	}
}
