package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/feed"
)

// metricLines returns the metrics of a watch without those of other parts, as "name{labels} value".
func metricLines(t *testing.T, w *alarmWatch) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(readings(w.readings)))
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			values[family.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	return values
}

func TestAlarmsAreLoggedWhenTheyChange(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	var state feed.Subscriber
	var failure error
	w := &alarmWatch{
		log:  slog.New(slog.NewTextHandler(&logged, nil)),
		read: func(context.Context) ([]feed.Subscriber, error) { return []feed.Subscriber{state}, failure },
	}
	for _, step := range []struct {
		name     string
		state    feed.Subscriber
		err      error
		starting bool
		alarms   []string
		logged   []string
	}{
		{"start with a backlog", feed.Subscriber{LagEvents: 9, LagSeconds: 3600}, nil, true, []string{}, nil},
		{"still behind", feed.Subscriber{LagEvents: 9, LagSeconds: 3610}, nil, false, []string{alarmLag}, []string{"alarm raised", "jobs has 9 events to handle", "fix=\"vqa events subscribers\""}},
		{"parked too", feed.Subscriber{LagEvents: 9, LagSeconds: 3620, Parked: 1}, nil, false, []string{alarmParked, alarmLag}, []string{"alarm raised", "jobs has 1 parked event", "vqa events parked retry jobs --all"}},
		{"more parked", feed.Subscriber{LagEvents: 9, LagSeconds: 3630, Parked: 2}, nil, false, []string{alarmParked, alarmLag}, nil},
		{"no database", feed.Subscriber{}, errors.New("away"), false, []string{alarmParked, alarmLag}, nil},
		{"caught up", feed.Subscriber{LagEvents: 1, LagSeconds: 60, Parked: 2}, nil, false, []string{alarmParked}, []string{"alarm cleared", "alarm=subscriber_lag"}},
		{"retried", feed.Subscriber{}, nil, false, []string{}, []string{"alarm cleared", "alarm=parked_events"}},
	} {
		state, failure = step.state, step.err
		state.Name = "jobs"
		logged.Reset()
		w.check(t.Context(), step.starting)
		require.Equal(t, step.alarms, w.names(), step.name)
		lines := strings.Count(logged.String(), "\n")
		require.Equal(t, len(step.logged) > 0, lines == 1, "%s: %s", step.name, logged.String())
		for _, text := range step.logged {
			require.Contains(t, logged.String(), text, step.name)
		}
	}
}

// TestOwnAlarmsNeedNoDatabase: the owner of the database can make the subscribers unreadable.
func TestOwnAlarmsNeedNoDatabase(t *testing.T) {
	t.Parallel()
	own := []alarm{{name: alarmLedger, subscriber: "ledger", detail: "position 7"}}
	w := &alarmWatch{
		log:  slog.New(slog.DiscardHandler),
		read: func(context.Context) ([]feed.Subscriber, error) { return nil, errors.New("permission denied") },
		own:  func() []alarm { return own },
	}
	w.check(t.Context(), false)
	require.Equal(t, []string{alarmLedger}, w.names())
	own = nil
	w.check(t.Context(), false)
	require.Empty(t, w.names())
}

func TestParkedEventsRaiseAnAlarm(t *testing.T) {
	b := newToolbench(t)
	b.subscribe(func(_ context.Context, e eventstore.Recorded) error {
		if e.Event.EventType() == "account.opened" {
			return errors.New("no job for it")
		}
		return nil
	})
	b.subscriber(func(s feed.Subscriber) bool { return s.Parked == 1 && s.LagEvents == 0 })
	a, err := openApp(t.Context(), b.config, slog.New(slog.DiscardHandler), adapters{})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	w := &alarmWatch{log: slog.New(slog.DiscardHandler), read: func(ctx context.Context) ([]feed.Subscriber, error) {
		return a.subscriptions().Subscribers(ctx, "jobs")
	}}
	w.check(t.Context(), true)
	require.Equal(t, []string{alarmParked}, w.names())
	require.Equal(t, map[string]float64{
		"vqa_alarm parked_events": 1, "vqa_alarm subscriber_lag": 0,
		"vqa_alarm forged_rows": 0, "vqa_alarm ledger_finding": 0, "vqa_alarm ledger_unsealed": 0, "vqa_alarm ledger_unwitnessed": 0,
		"vqa_subscriber_parked_events jobs": 1, "vqa_subscriber_set_aside_events jobs": 0,
		"vqa_subscriber_lag_events jobs": 0, "vqa_subscriber_lag_seconds jobs": 0,
	}, metricLines(t, w))

	detail, fix, err := checkSubscribers(t.Context(), b.config.DatabaseURL)
	require.NoError(t, err)
	require.Equal(t, "jobs has 1 parked event that it could not handle", detail)
	require.Contains(t, fix, "vqa events parked retry jobs --all")
	b.text("events", "parked", "drop", "jobs", "--all")
	detail, fix, err = checkSubscribers(t.Context(), b.config.DatabaseURL)
	require.NoError(t, err)
	require.Empty(t, detail+fix)
	w.check(t.Context(), false)
	require.Empty(t, w.names())
}
