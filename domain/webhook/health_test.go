package webhook_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/internal/scenario"
	"vqa/domain/webhook"
)

// TestScheduleOfTheContract makes all attempts of a delivery that always fails, in virtual time.
func TestScheduleOfTheContract(t *testing.T) {
	t.Parallel()
	schedule := webhook.Schedule{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour}
	now, attempt := scenario.Now, 1
	for {
		// 0.5 is the planned pause.
		next, more := schedule.Next(attempt, now, 0, 0.5)
		if !more {
			break
		}
		now, attempt = next, attempt+1
	}
	require.Equal(t, 7, attempt, "the first attempt and six retries")
	require.Equal(t, 34*time.Hour+36*time.Minute, now.Sub(scenario.Now))
}

// TestSchedule checks the bounds of every pause, for any schedule.
func TestSchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pauses := rapid.SliceOfN(rapid.Int64Range(1, int64(7*24*time.Hour)), 1, 10).Draw(t, "schedule")
		var schedule webhook.Schedule
		for _, p := range pauses {
			schedule = append(schedule, time.Duration(p))
		}
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		retryAfter := time.Duration(rapid.Int64Range(0, int64(30*24*time.Hour)).Draw(t, "Retry-After"))
		for attempt, planned := range schedule {
			plain, ok := schedule.Next(attempt+1, scenario.Now, 0, random)
			require.True(t, ok)
			pause := plain.Sub(scenario.Now)
			require.GreaterOrEqual(t, pause, planned*80/100)
			require.LessOrEqual(t, pause, planned*120/100)

			asked, ok := schedule.Next(attempt+1, scenario.Now, retryAfter, random)
			require.True(t, ok)
			require.False(t, asked.Before(plain), "Retry-After never brings an attempt forward")
			require.False(t, asked.After(scenario.Now.Add(max(pause, planned+2*time.Hour))))
			if retryAfter <= planned+2*time.Hour {
				require.False(t, asked.Before(scenario.Now.Add(retryAfter)), "it is honored up to 2 h beyond the plan")
			}
		}
		_, ok := schedule.Next(len(schedule)+1, scenario.Now, retryAfter, random)
		require.False(t, ok)
		_, ok = schedule.Next(0, scenario.Now, 0, random)
		require.False(t, ok)
	})
}

// TestJitterSpreads checks that the bounds of the jitter are reached.
func TestJitterSpreads(t *testing.T) {
	t.Parallel()
	schedule := webhook.Schedule{100 * time.Second}
	for random, want := range map[float64]time.Duration{0: 80, 0.25: 90, 0.5: 100, 0.75: 110} {
		at, _ := schedule.Next(1, scenario.Now, 0, random)
		require.Equal(t, want*time.Second, at.Sub(scenario.Now))
	}
}

func hours(n float64) time.Time { return scenario.Now.Add(time.Duration(n * float64(time.Hour))) }

func after(failures ...float64) webhook.Health {
	var h webhook.Health
	for _, at := range failures {
		h = h.Failed(hours(at))
	}
	return h
}

func TestHealth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failures []float64
		now      float64
		want     webhook.Verdict
	}{
		"nothing failed":                                   {nil, 1000, webhook.Healthy},
		"one failure, then no traffic":                     {[]float64{0}, 1000, webhook.Healthy},
		"all retries of one delivery":                      {[]float64{0, 0.02, 0.1, 0.6, 2.6, 10.6, 34.6}, 1000, webhook.Warn},
		"before half of the time":                          {[]float64{0, 35}, 35.9, webhook.Healthy},
		"half of the time":                                 {[]float64{0, 12}, 36, webhook.Warn},
		"half of the time, the last day without a failure": {[]float64{0, 11.9}, 36, webhook.Healthy},
		"before the end":                                   {[]float64{0, 48, 71}, 71.9, webhook.Warn},
		"failures on the first and the last day":           {[]float64{0, 48}, 72, webhook.GiveUp},
		"the last day without a failure":                   {[]float64{0, 47.9}, 72, webhook.Warn},
		"a failure after the window":                       {[]float64{0, 60, 100}, 100, webhook.GiveUp},
		"a failure long after the first":                   {[]float64{0, 240}, 240, webhook.Healthy},
		"then the window begins with the last one":         {[]float64{0, 40, 73, 100}, 112, webhook.GiveUp},
		"in any order":                                     {[]float64{50, 0, 20}, 72, webhook.GiveUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, after(c.failures...).Verdict(hours(c.now)))
		})
	}
	warned := after(0, 30)
	warned.Warned = true
	require.Equal(t, webhook.Healthy, warned.Verdict(hours(40)), "one warning is enough")
	require.Equal(t, webhook.GiveUp, warned.Failed(hours(60)).Verdict(hours(72)))
}

// TestHealthLaw draws a history of failures and successes and compares the verdict with the
// definition on the whole history.
func TestHealthLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h webhook.Health
		var failures []time.Time // since the last success
		now := scenario.Now
		dense := rapid.Bool().Draw(t, "dense")
		longest := 60
		if dense {
			longest = 24
		}
		for range rapid.IntRange(0, 30).Draw(t, "attempts") {
			now = now.Add(time.Duration(rapid.IntRange(0, longest).Draw(t, "hours")) * time.Hour)
			if rapid.IntRange(0, 9).Draw(t, "outcome") == 0 {
				h, failures = webhook.Health{}, nil
			} else {
				h, failures = h.Failed(now), append(failures, now)
			}
			switch h.Verdict(now) {
			case webhook.GiveUp:
				require.True(t, failedFor(failures, now, 72*time.Hour), "disabled before 72 h of failures: %v", failures)
			case webhook.Warn:
				require.True(t, failedFor(failures, now, 36*time.Hour), "warned before 36 h of failures: %v", failures)
			}
			// An endpoint that fails at least once a day is disabled after 72 h.
			if dense && len(failures) > 0 && now.Sub(failures[0]) >= 72*time.Hour {
				require.Equal(t, webhook.GiveUp, h.Verdict(now), "not disabled after %v", failures)
			}
		}
	})
}

// failedFor reports whether some failure was followed by failures only, for at least so long, with
// one on the last day of that time.
func failedFor(failures []time.Time, now time.Time, window time.Duration) bool {
	for _, first := range failures {
		end := first.Add(window)
		onLastDay := slices.ContainsFunc(failures, func(at time.Time) bool { return !at.Before(end.Add(-24 * time.Hour)) })
		if !now.Before(end) && onLastDay {
			return true
		}
	}
	return false
}
