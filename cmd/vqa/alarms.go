package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
)

// Names of alarms, in /readyz, in the log and in the metrics.
const (
	alarmParked = "parked_events"
	alarmLag    = "subscriber_lag"
	// alarmLedger means that the database contradicts the transparency log, and alarmUnsealed that new
	// events are not sealed. alarmUnwitnessed means that a witness does not cosign.
	alarmLedger      = "ledger_finding"
	alarmUnsealed    = "ledger_unsealed"
	alarmUnwitnessed = "ledger_unwitnessed"
)

const (
	// alarmsEvery is the interval between two checks, and alarmsPatience the time limit of one.
	alarmsEvery    = 10 * time.Second
	alarmsPatience = 5 * time.Second
	// mostLag is the age of an undelivered event that raises an alarm. Events usually take
	// milliseconds, and an event that fails is parked after 21 s plus its attempts.
	mostLag = time.Minute
)

// Error codes of Postgres.
const (
	undefinedTable    = "42P01"
	undefinedDatabase = "3D000"
)

// alarm is a condition that an operator must end. The service still works.
type alarm struct {
	name, subscriber string
	// detail describes the condition, and fix is the command that ends it.
	detail, fix string
}

// subscriberAlarms returns the alarms about subscribers of the log.
func subscriberAlarms(all []feed.Subscriber) (alarms []alarm) {
	for _, s := range all {
		if s.Parked > 0 {
			alarms = append(alarms, alarm{
				alarmParked, s.Name, fmt.Sprintf("%s has %s that it could not handle", s.Name, counted(s.Parked, "parked event")),
				fmt.Sprintf("vqa events parked list %[1]s, then: vqa events parked retry %[1]s --all", s.Name),
			})
		}
		if s.LagSeconds > mostLag.Seconds() {
			alarms = append(alarms, alarm{
				alarmLag, s.Name, fmt.Sprintf("%s has %s to handle, and the oldest waits for %s", s.Name, counted(s.LagEvents, "event"), lag(s.LagSeconds)),
				"vqa events subscribers",
			})
		}
	}
	return alarms
}

// inspectAlarm describes a raised alarm for vqa doctor. Broken means that somebody else changed stored rows.
func inspectAlarm(name string) doctor.Finding {
	f := doctor.Finding{Verdict: doctor.Warning, Detail: "the service has raised " + name, Fix: "run the command that the log of the service has with \"alarm raised\""}
	switch name {
	case alarmForged, alarmLedger:
		f.Verdict, f.Fix = doctor.Broken, verifyAll
	}
	return f
}

// alarmWatch reads the subscribers from time to time and keeps the alarms.
type alarmWatch struct {
	read func(context.Context) ([]feed.Subscriber, error)
	// own returns the alarms that only this node knows. It may be nil.
	own func() []alarm
	log *slog.Logger

	mu          sync.Mutex
	subscribers []feed.Subscriber
	raised      map[[2]string]alarm
}

// check reads the subscribers and logs each alarm that changed. At the start of the service, waiting
// events raise no alarm, because perhaps no node was running. When the database does not answer, the
// alarms about subscribers stay as they were.
func (w *alarmWatch) check(ctx context.Context, starting bool) {
	ctx, cancel := context.WithTimeout(ctx, alarmsPatience)
	defer cancel()
	now := map[[2]string]alarm{}
	all, err := w.read(ctx)
	found := subscriberAlarms(all)
	if err != nil {
		w.log.DebugContext(ctx, "could not check the subscribers", "error", err)
		all, found = w.known()
	}
	if w.own != nil {
		found = append(found, w.own()...)
	}
	for _, a := range found {
		if !starting || a.name != alarmLag {
			now[[2]string{a.name, a.subscriber}] = a
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, a := range now {
		if _, known := w.raised[key]; !known {
			w.log.WarnContext(ctx, "alarm raised", "alarm", a.name, "subscriber", a.subscriber, "detail", a.detail, "fix", a.fix)
		}
	}
	for key, a := range w.raised {
		if _, still := now[key]; !still {
			w.log.InfoContext(ctx, "alarm cleared", "alarm", a.name, "subscriber", a.subscriber)
		}
	}
	w.subscribers, w.raised = all, now
}

// known returns the subscribers and their alarms as of the last check. The owner of the database can make them unreadable,
// and must not silence the alarms of this node with that.
func (w *alarmWatch) known() (subscribers []feed.Subscriber, alarms []alarm) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.raised {
		if a.name == alarmParked || a.name == alarmLag {
			alarms = append(alarms, a)
		}
	}
	return w.subscribers, alarms
}

// names returns the names of the raised alarms, in order: those about subscribers as of the last check, and those that
// only this node knows as of now.
func (w *alarmWatch) names() []string {
	names := []string{}
	if w.own != nil {
		for _, a := range w.own() {
			names = append(names, a.name)
		}
	}
	_, subscribers := w.known()
	for _, a := range subscribers {
		names = append(names, a.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readings are the metrics of the alarms and of the subscribers, as of the last check. They are equal on all nodes.
func (w *alarmWatch) readings(emit emitter) {
	raised := w.names()
	for _, name := range []string{alarmParked, alarmLag, alarmForged, alarmLedger, alarmUnsealed, alarmUnwitnessed} {
		value := 0.0
		if slices.Contains(raised, name) {
			value = 1
		}
		emit("vqa_alarm", "1 while the alarm is raised, else 0.", value, "alarm", name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subscribers {
		emit("vqa_subscriber_parked_events", "Events that a subscriber could not handle.", float64(s.Parked), "subscriber", s.Name)
		emit("vqa_subscriber_set_aside_events", "Events that wait for another attempt, or behind such an event.", float64(s.SetAside), "subscriber", s.Name)
		emit("vqa_subscriber_lag_events", "Events that a subscriber has neither handled nor parked.", float64(s.LagEvents), "subscriber", s.Name)
		emit("vqa_subscriber_lag_seconds", "Age of the oldest of these events.", s.LagSeconds, "subscriber", s.Name)
	}
}

// checkSubscribers describes the alarms about subscribers for vqa doctor: nothing when there are none.
func checkSubscribers(ctx context.Context, databaseURL string) (detail, fix string, err error) {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return "", "", err
	}
	defer pool.Close()
	all, err := feed.New(pool, codec.Events(), slog.New(slog.DiscardHandler)).Subscribers(ctx, subscriberNames()...)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == undefinedTable || pgErr.Code == undefinedDatabase) {
		return "", "", nil // the first start creates the database and its tables
	}
	if err != nil {
		return "", "", err
	}
	var details, fixes []string
	for _, a := range subscriberAlarms(all) {
		details, fixes = append(details, a.detail), append(fixes, a.fix)
	}
	return strings.Join(details, "; "), strings.Join(fixes, "; "), nil
}
