package webhook_test

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/id"
	"vqa/domain/internal/scenario"
	"vqa/domain/webhook"
)

var (
	delivery = scenario.Aggregate[webhook.Delivery, webhook.DeliveryCommand, webhook.DeliveryEvent]{
		Decide: webhook.DecideDelivery, Evolve: webhook.EvolveDelivery,
	}

	key       = webhook.DeliveryKey{DeliveryID: "whd_1", AccountID: "acct_1", EventID: "evt_1", Target: "we_1"}
	deliver   = webhook.Deliver{DeliveryKey: key, Attempt: 2, Status: 204}
	bury      = webhook.Bury{DeliveryKey: key, Reason: webhook.RetriesExhausted, Attempts: 7}
	requeue   = webhook.Requeue{DeliveryKey: key}
	delivered = webhook.Delivered{DeliveryID: "whd_1", AccountID: "acct_1", EventID: "evt_1", Target: "we_1", Attempt: 2, Status: 204, At: scenario.Now}
	dead      = webhook.Dead{
		DeliveryID: "whd_1", AccountID: "acct_1", EventID: "evt_1", Target: "we_1", Reason: webhook.RetriesExhausted, Attempts: 7, At: scenario.Now,
	}
	requeued = webhook.Requeued{DeliveryID: "whd_1", AccountID: "acct_1", EventID: "evt_1", Target: "we_1", At: scenario.Now}
)

func TestDecideDelivery(t *testing.T) {
	t.Parallel()
	type events = []webhook.DeliveryEvent
	delivery.Run(t, []scenario.Case[webhook.DeliveryCommand, webhook.DeliveryEvent]{
		{Name: "a delivery arrives", When: deliver, Then: events{delivered}},
		{Name: "a delivery is given up", When: bury, Then: events{dead}},
		{Name: "a dead delivery is tried again", Given: events{dead}, When: requeue, Then: events{requeued}},
		{Name: "and arrives", Given: events{dead, requeued}, When: deliver, Then: events{delivered}},
		{Name: "a late response of a dead delivery counts", Given: events{dead}, When: deliver, Then: events{delivered}},
	})
}

func TestDeliveryStateTable(t *testing.T) {
	t.Parallel()
	given := map[string][]webhook.DeliveryEvent{"waiting": {requeued}, "delivered": {delivered}, "dead": {dead}}
	when := map[string]webhook.DeliveryCommand{"Deliver": deliver, "Bury": bury, "Requeue": requeue}
	stateOf := func(d webhook.Delivery) string {
		if d.Outcome == webhook.Waiting {
			return "waiting"
		}
		return string(d.Outcome)
	}
	scenario.ReadTable(t, "delivery").Check(t, []string{"waiting", "delivered", "dead"}, []string{"Deliver", "Bury", "Requeue"},
		func(t *testing.T, state, command string) (string, string) {
			d := delivery.Fold(given[state]...)
			require.Equal(t, state, stateOf(d))
			decided, err := webhook.DecideDelivery(d, when[command], scenario.Now)
			return stateOf(delivery.Step(t, d, decided...)), scenario.Outcome(decided, err)
		})
}

// TestDeliveryLaw runs random commands. A delivered delivery stays delivered.
func TestDeliveryLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d webhook.Delivery
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			before := d
			decided, err := webhook.DecideDelivery(d, rapid.SampledFrom([]webhook.DeliveryCommand{deliver, bury, requeue}).Draw(t, "command"), scenario.Now)
			require.False(t, err != nil && len(decided) > 0, "a refused command leaves nothing behind")
			d = delivery.Step(t, d, decided...)
			if before.Outcome == webhook.IsDelivered {
				require.Empty(t, decided)
			}
			require.Equal(t, d.Outcome == webhook.IsDead, d.Reason != "")
			require.Equal(t, d.Outcome == webhook.Waiting, d.EndedAt == nil)
		}
	})
}

func TestUnknownDeliveryCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = webhook.DecideDelivery(webhook.Delivery{}, nil, scenario.Now) })
	require.Panics(t, func() { webhook.EvolveDelivery(webhook.Delivery{}, nil) })
}

func TestSecret(t *testing.T) {
	t.Parallel()
	// These bytes need the characters in which the alphabets of base64 differ.
	raw, err := webhook.NewSecret(bytes.NewReader(bytes.Repeat([]byte{0xfb, 0xff}, 16)))
	require.NoError(t, err)
	text := webhook.FormatSecret(raw)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, text)
	require.Contains(t, text, "+")
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	require.NoError(t, err)
	require.Equal(t, raw, decoded)
	_, err = webhook.NewSecret(iotest.ErrReader(iotest.ErrTimeout))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestTargets(t *testing.T) {
	t.Parallel()
	one := webhook.DeliveryID(scenario.Now, "evt_1", "we_1")
	require.True(t, id.Valid(id.Delivery, one))
	require.Equal(t, one, webhook.DeliveryID(scenario.Now, "evt_1", "we_1"))
	require.NotEqual(t, one, webhook.DeliveryID(scenario.Now, "evt_1", "we_2"))
	require.NotEqual(t, one, webhook.DeliveryID(scenario.Now, "evt_2", "we_1"))
	require.Less(t, one, webhook.DeliveryID(scenario.Now.Add(time.Second), "evt_1", "we_1"), "ids follow the time of the event")

	target := func(accountID, raw string) string {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		return webhook.OverrideTarget(accountID, u)
	}
	host := target("acct_1", "https://example.com/a?token=1")
	require.True(t, webhook.IsOverride(host))
	require.False(t, webhook.IsOverride("we_1"))
	require.Equal(t, host, target("acct_1", "https://EXAMPLE.com:443/b"), "one target for all paths of a host")
	require.NotEqual(t, host, target("acct_2", "https://example.com/a"))
	require.NotEqual(t, host, target("acct_1", "https://example.com:8443/a"))
	require.NotEqual(t, host, target("acct_1", "https://example.org/a"))
}
