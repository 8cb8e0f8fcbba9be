package webhook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
	"vqa/domain/webhook"
)

var aggregate = scenario.Aggregate[webhook.State, webhook.Command, webhook.Event]{
	Decide: webhook.Decide, Evolve: webhook.Evolve,
}

type events = []webhook.Event

const hookURL = "https://example.com/hook"

var (
	earlier = scenario.Now.Add(-time.Hour)
	ref     = webhook.Ref{ID: "we_1", Livemode: true}
	first   = webhook.Secret{Sealed: "first", SealKeyID: "k"}
	second  = webhook.Secret{Sealed: "second", SealKeyID: "k"}

	wanted  = webhook.Settings{URL: hookURL, Events: []string{"video.ready"}, Description: "orders"}
	create  = webhook.Create{Ref: ref, AccountID: "acct_1", Settings: wanted, Secret: first}
	created = webhook.Created{
		AccountID: "acct_1", EndpointID: "we_1", Livemode: true, URL: hookURL, Events: []string{"video.ready"}, Description: "orders",
		Secret: first, At: earlier,
	}
	disabled = webhook.Disabled{AccountID: "acct_1", EndpointID: "we_1", Reason: webhook.ByUser, At: earlier}
	warned   = webhook.Warned{AccountID: "acct_1", EndpointID: "we_1", FailingSince: earlier, At: earlier}
	// addressed is the endpoint with an address for notices.
	addressed = webhook.Changed{
		AccountID: "acct_1", EndpointID: "we_1", URL: hookURL, Events: []string{"video.ready"}, Description: "orders", NoticeEmail: "ops@example.com", At: earlier,
	}
	failed = webhook.Disabled{AccountID: "acct_1", EndpointID: "we_1", Reason: webhook.AutoFailure, At: earlier}
)

// rotated returns the rotations of an endpoint at the given ages.
func rotated(ages ...time.Duration) events {
	given := events{created}
	for i, age := range ages {
		at := scenario.Now.Add(-age)
		given = append(given, webhook.SecretRotated{
			AccountID: "acct_1", EndpointID: "we_1", Secret: webhook.Secret{Sealed: fmt.Sprint("rotated ", i)},
			OldExpiresAt: at.Add(webhook.RotationOverlap), At: at,
		})
	}
	return given
}

// full returns an account with all endpoints that it may have, half of them in test mode.
func full() events {
	var given events
	for i := range webhook.MaxEndpoints {
		e := created
		e.EndpointID, e.Livemode = fmt.Sprintf("we_%d", i+100), i%2 == 0
		given = append(given, e)
	}
	return given
}

func TestDecide(t *testing.T) {
	t.Parallel()
	createdNow := created
	createdNow.At = scenario.Now
	with := func(change func(*webhook.Create)) webhook.Create {
		c := create
		change(&c)
		return c
	}
	changed := func(url, description string, types ...string) events {
		return events{webhook.Changed{AccountID: "acct_1", EndpointID: "we_1", URL: url, Events: types, Description: description, At: scenario.Now}}
	}
	cases := []scenario.Case[webhook.Command, webhook.Event]{
		{Name: "an endpoint is created", When: create, Then: events{createdNow}},
		{Name: "the last endpoint", Given: full()[1:], When: create, Then: events{createdNow}},
		{Name: "one endpoint too many", Given: full(), When: create, Refused: fault.WebhookEndpointLimit},
		{
			Name: "a deleted endpoint does not count", When: create, Then: events{createdNow},
			Given: append(full(), webhook.Deleted{AccountID: "acct_1", EndpointID: "we_100", At: earlier}),
		},
		{Name: "all events", When: with(func(c *webhook.Create) { c.Events = webhook.EventTypes() }), Then: func() events {
			all := createdNow
			all.Events = webhook.EventTypes()
			return events{all}
		}()},
		{Name: "http", When: with(func(c *webhook.Create) { c.URL = "http://example.com/" }), Refused: fault.ValidationFailed},
		{Name: "a relative URL", When: with(func(c *webhook.Create) { c.URL = "/hook" }), Refused: fault.ValidationFailed},
		{Name: "a URL without a host", When: with(func(c *webhook.Create) { c.URL = "https:///hook" }), Refused: fault.ValidationFailed},
		{Name: "a long URL", When: with(func(c *webhook.Create) { c.URL = hookURL + strings.Repeat("x", 2048) }), Refused: fault.ValidationFailed},
		{Name: "no events", When: with(func(c *webhook.Create) { c.Events = nil }), Refused: fault.ValidationFailed},
		{Name: "an unknown event", When: with(func(c *webhook.Create) { c.Events = []string{"video.lost"} }), Refused: fault.ValidationFailed},
		{
			Name: "an event twice", When: with(func(c *webhook.Create) { c.Events = []string{"video.ready", "video.ready"} }),
			Refused: fault.ValidationFailed,
		},
		{Name: "a description of 501", When: with(func(c *webhook.Create) { c.Description = strings.Repeat("ä", 501) }), Refused: fault.ValidationFailed},

		{Name: "another URL", Given: events{created}, When: webhook.Change{Ref: ref, URL: new(hookURL + "s")}, Then: changed(hookURL+"s", "orders", "video.ready")},
		{Name: "an address with a name", When: with(func(c *webhook.Create) { c.NoticeEmail = "Ops <ops@example.com>" }), Refused: fault.ValidationFailed},
		{Name: "an address with two lines", When: with(func(c *webhook.Create) { c.NoticeEmail = "ops@example.com\r\nBcc: all@example.com" }), Refused: fault.ValidationFailed},
		{Name: "an address beyond ASCII", When: with(func(c *webhook.Create) { c.NoticeEmail = "öps@example.com" }), Refused: fault.ValidationFailed},
		{Name: "a list of addresses", When: with(func(c *webhook.Create) { c.NoticeEmail = "a@example.com,b@example.com" }), Refused: fault.ValidationFailed},
		{Name: "an address of 255", When: with(func(c *webhook.Create) { c.NoticeEmail = strings.Repeat("a", 243) + "@example.com" }), Refused: fault.ValidationFailed},
		{Name: "a second warning of the same failures", Given: events{created, warned}, When: webhook.WarnOwner{Ref: ref, FailingSince: earlier}, Then: nil},
		{Name: "a warning of later failures", Given: events{created, warned}, When: webhook.WarnOwner{Ref: ref, FailingSince: scenario.Now}, Then: events{
			webhook.Warned{AccountID: "acct_1", EndpointID: "we_1", FailingSince: scenario.Now, At: scenario.Now},
		}},
		{Name: "a failure before the endpoint got its address", Given: events{created}, When: webhook.Fail{Ref: ref, FailedAt: earlier.Add(-time.Second)}, Then: nil},
		{
			Name: "a failure before the endpoint was enabled", When: webhook.Fail{Ref: ref, FailedAt: earlier.Add(time.Minute)}, Then: nil,
			Given: events{created, failed, webhook.Enabled{AccountID: "acct_1", EndpointID: "we_1", At: earlier.Add(2 * time.Minute)}},
		},
		{Name: "no address", Given: events{created, addressed}, When: webhook.Change{Ref: ref, NoticeEmail: new("")}, Then: changed(hookURL, "orders", "video.ready")},
		{Name: "the same address", Given: events{created, addressed}, When: webhook.Change{Ref: ref, NoticeEmail: new("ops@example.com")}, Then: nil},
		{Name: "no description", Given: events{created}, When: webhook.Change{Ref: ref, Description: new("")}, Then: changed(hookURL, "", "video.ready")},
		{
			Name: "other events", Given: events{created}, When: webhook.Change{Ref: ref, Events: []string{"stream.ended"}},
			Then: changed(hookURL, "orders", "stream.ended"),
		},
		{Name: "no event left", Given: events{created}, When: webhook.Change{Ref: ref, Events: []string{}}, Refused: fault.ValidationFailed},
		{Name: "the same settings", Given: events{created}, When: webhook.Change{Ref: ref, URL: new(hookURL), Events: []string{"video.ready"}}},

		{
			Name: "the old secret signs for a day", Given: events{created}, When: webhook.RotateSecret{Ref: ref, Secret: second},
			Then: events{webhook.SecretRotated{
				AccountID: "acct_1", EndpointID: "we_1", Secret: second, OldExpiresAt: scenario.Now.Add(24 * time.Hour), At: scenario.Now,
			}},
		},
		{
			Name: "a fifth rotation in a day", Given: rotated(4*time.Hour, 3*time.Hour, 2*time.Hour, time.Hour),
			When: webhook.RotateSecret{Ref: ref, Secret: second}, Refused: fault.ResourceConflict,
		},
		{
			Name: "a fifth rotation after a day", Given: rotated(24*time.Hour, 3*time.Hour, 2*time.Hour, time.Hour),
			When: webhook.RotateSecret{Ref: ref, Secret: second},
			Then: events{webhook.SecretRotated{
				AccountID: "acct_1", EndpointID: "we_1", Secret: second, OldExpiresAt: scenario.Now.Add(24 * time.Hour), At: scenario.Now,
			}},
		},
	}
	for name, c := range commands(webhook.Ref{ID: "we_1", Livemode: false}) {
		if name != "Create" {
			cases = append(cases, scenario.Case[webhook.Command, webhook.Event]{
				Name: name + " with a key of the other mode", Given: events{created}, When: c, Refused: fault.ResourceNotFound,
			})
		}
	}
	aggregate.Run(t, cases)
}

func commands(of webhook.Ref) map[string]webhook.Command {
	return map[string]webhook.Command{
		"Create": create, "Change": webhook.Change{Ref: of, URL: new(hookURL + "/new")}, "RotateSecret": webhook.RotateSecret{Ref: of, Secret: second},
		"Delete": webhook.Delete{Ref: of}, "Disable": webhook.Disable{Ref: of}, "Fail": webhook.Fail{Ref: of, FailedAt: scenario.Now}, "Enable": webhook.Enable{Ref: of},
		"WarnOwner": webhook.WarnOwner{Ref: of, FailingSince: earlier},
	}
}

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string]events{"(none)": nil, "enabled": {created}, "disabled": {created, disabled}, "failed": {created, failed}}
	stateOf := func(s webhook.State) string {
		e, ok := s.Endpoint("we_1")
		switch {
		case !ok:
			return "(none)"
		case e.Enabled():
			return "enabled"
		case e.DisabledReason == webhook.ByUser:
			return "disabled"
		}
		return "failed"
	}
	scenario.ReadTable(t, "endpoint").Check(t, []string{"(none)", "enabled", "disabled", "failed"},
		[]string{"Create", "Change", "RotateSecret", "Delete", "Disable", "Fail", "Enable", "WarnOwner"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			require.Equal(t, state, stateOf(s))
			decided, err := webhook.Decide(s, commands(ref)[command], scenario.Now)
			return stateOf(aggregate.Step(t, s, decided...)), scenario.Outcome(decided, err)
		})
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = webhook.Decide(webhook.State{}, nil, scenario.Now) })
	require.Panics(t, func() { webhook.Evolve(webhook.State{}, nil) })
}

// TestLaws runs random commands. The limit holds, ids are unique, each endpoint has exactly one
// secret without an end, and a secret signs for exactly 24 hours after it was replaced.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s webhook.State
		now := scenario.Now
		// valid has the end of each secret of an endpoint that must sign; zero for the newest.
		valid := map[string]map[string]time.Time{}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "hours")) * time.Hour)
			c := command(t, i)
			decided, err := webhook.Decide(s, c, now)
			require.False(t, err != nil && len(decided) > 0, "a refused command leaves nothing behind")
			s = aggregate.Step(t, s, decided...)
			for _, e := range decided {
				track(valid, e)
			}
			require.LessOrEqual(t, len(s.Endpoints), webhook.MaxEndpoints)
			require.Len(t, s.Endpoints, len(valid))
			for _, e := range s.Endpoints {
				checkSecrets(t, e, valid[e.ID], now)
			}
		}
	})
}

func track(valid map[string]map[string]time.Time, event webhook.Event) {
	switch e := event.(type) {
	case webhook.Created:
		valid[e.EndpointID] = map[string]time.Time{e.Secret.Sealed: {}}
	case webhook.Deleted:
		delete(valid, e.EndpointID)
	case webhook.SecretRotated:
		for sealed, end := range valid[e.EndpointID] {
			if end.IsZero() {
				valid[e.EndpointID][sealed] = e.At.Add(24 * time.Hour)
			}
		}
		valid[e.EndpointID][e.Secret.Sealed] = time.Time{}
	}
}

func checkSecrets(t *rapid.T, e webhook.Endpoint, valid map[string]time.Time, now time.Time) {
	var want []string
	for sealed, end := range valid {
		if end.IsZero() || now.Before(end) {
			want = append(want, sealed)
		}
	}
	var signing []string
	for _, held := range e.Signing(now) {
		signing = append(signing, held.Sealed)
	}
	require.ElementsMatch(t, want, signing)
	require.LessOrEqual(t, len(signing), 5)
	require.True(t, valid[signing[0]].IsZero(), "the newest secret signs first")
	require.Nil(t, e.Secrets[0].ExpiresAt)
}

func command(t *rapid.T, step int) webhook.Command {
	of := webhook.Ref{ID: fmt.Sprintf("we_%d", rapid.IntRange(1, 12).Draw(t, "endpoint")), Livemode: rapid.Bool().Draw(t, "livemode")}
	secret := webhook.Secret{Sealed: fmt.Sprint("secret ", step)}
	return rapid.SampledFrom([]webhook.Command{
		webhook.Create{Ref: of, AccountID: "acct_1", Settings: wanted, Secret: secret},
		webhook.Create{Ref: of, AccountID: "acct_1", Settings: wanted, Secret: secret},
		webhook.RotateSecret{Ref: of, Secret: secret}, webhook.RotateSecret{Ref: of, Secret: secret},
		webhook.Change{Ref: of, Events: []string{"stream.ended"}}, webhook.Change{Ref: of, URL: new("http://example.com")},
		webhook.Disable{Ref: of}, webhook.Fail{Ref: of, FailedAt: scenario.Now}, webhook.Enable{Ref: of}, webhook.Delete{Ref: of},
	}).Draw(t, "command")
}

func TestMatching(t *testing.T) {
	t.Parallel()
	endpoint := func(id string, livemode bool, types ...string) webhook.Created {
		e := created
		e.EndpointID, e.Livemode, e.Events = id, livemode, types
		return e
	}
	s := aggregate.Fold(
		endpoint("we_1", true, "video.ready", "video.failed"), endpoint("we_2", false, "video.ready"),
		endpoint("we_3", true, "analysis.completed"), endpoint("we_4", true, "video.ready"),
		webhook.Disabled{EndpointID: "we_4", Reason: webhook.ByUser}, endpoint("we_5", true, "video.ready"), webhook.Deleted{EndpointID: "we_5"},
	)
	ids := func(eventType string, livemode bool) (found []string) {
		for _, e := range s.Matching(eventType, livemode) {
			found = append(found, e.ID)
		}
		return found
	}
	require.Equal(t, []string{"we_1", "we_4"}, ids("video.ready", true), "a disabled endpoint matches")
	require.Equal(t, []string{"we_2"}, ids("video.ready", false))
	require.Equal(t, []string{"we_1"}, ids("video.failed", true))
	require.Empty(t, ids("video.failed", false))
	require.Empty(t, ids("stream.ended", true))
}

// TestFailuresOfAnotherTimeDoNotCount checks when the failures of an endpoint start over.
func TestFailuresOfAnotherTimeDoNotCount(t *testing.T) {
	t.Parallel()
	since := func(given ...webhook.Event) time.Time {
		e, ok := aggregate.Fold(slices.Concat(events{created}, given)...).Endpoint("we_1")
		require.True(t, ok)
		return e.FailuresSince
	}
	later := scenario.Now
	require.Equal(t, earlier, since())
	require.Equal(t, earlier, since(failed))
	require.Equal(t, later, since(failed, webhook.Enabled{EndpointID: "we_1", At: later}))
	require.Equal(t, later, since(webhook.Changed{EndpointID: "we_1", URL: hookURL + "s", At: later}))
	require.Equal(t, earlier, since(webhook.Changed{EndpointID: "we_1", URL: hookURL, Description: "new", At: later}))
}
