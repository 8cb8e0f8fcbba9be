package admission

import "time"

// Policy is the configuration of a Gate.
type Policy struct {
	// Target is the mean time in service that the gate aims at.
	Target time.Duration
	// Interval is the time between two changes of the bound, and the time after which a line
	// counts as standing.
	Interval time.Duration
	// Burst is the longest time for which a create may wait in line, and Standing the longest in
	// a standing line.
	Burst, Standing time.Duration
	// First is the bound at the start. Least and Most limit it, 1 <= Least <= First <= Most.
	First, Least, Most int
	// Longest is the longest Retry-After, in whole seconds, at least 1.
	Longest int
}

// Default is the policy of a node. docs/reliability.md#overload has the measurements.
var Default = Policy{
	Target: 60 * time.Millisecond, Interval: 250 * time.Millisecond,
	Burst: 750 * time.Millisecond, Standing: 100 * time.Millisecond,
	First: 8, Least: 4, Most: 256, Longest: 30,
}

const (
	// slowest and fastest limit the change of the bound after one interval. Growth is slower,
	// because the effect of a larger bound shows only later.
	slowest, fastest = 0.5, 1.1
	// newest is the weight of the newest interval in the rate.
	newest = 0.3
	// leastRate is the lowest rate in creates per second.
	leastRate = 0.5
	// period is the unit of bookings.
	period = 250 * time.Millisecond
	// bookable is the part of a period that refused clients are booked into. The rest is for new
	// clients.
	bookable = 0.8
)

// Gate bounds the creates in service and in line.
type Gate struct {
	policy          Policy
	bound           float64
	inside, waiting int
	// rate is the number of creates that the node serves in a second while some wait.
	rate float64
	// mean is the mean time in service of the last interval in which a create ended.
	mean time.Duration
	// emptyAt is the last time at which no create was in line.
	emptyAt time.Time

	// start is the start of the current interval. ended counts its creates that ended. Of them,
	// counted and spent are the number and the time of those with a time that counts. full is
	// true if a create had to wait.
	start          time.Time
	ended, counted int
	spent          time.Duration
	full           bool

	// booked counts the clients that were asked to return in a period, by the number of the
	// period modulo its length. oldest is the first period that it holds.
	booked []int
	oldest int64
}

// New returns a gate at rest.
func New(p Policy) *Gate {
	return &Gate{
		policy: p, bound: float64(p.First), rate: float64(p.First) / p.Target.Seconds(),
		booked: make([]int, int(time.Duration(p.Longest+1)*time.Second/period)+1),
	}
}

// Bound returns the largest number of creates in service.
func (g *Gate) Bound() int { return int(g.bound) }

// Inside returns the number of creates in service.
func (g *Gate) Inside() int { return g.inside }

// Waiting returns the number of creates in line.
func (g *Gate) Waiting() int { return g.waiting }

// Mean returns the mean time in service of the last interval in which a create ended, or 0.
func (g *Gate) Mean() time.Duration { return g.mean }

// Slow reports whether the bound is as low as it can be. Then the node is too slow for its target
// even with few creates.
func (g *Gate) Slow() bool { return g.Bound() <= g.policy.Least }

// Verdict is the decision about a create.
type Verdict int

const (
	// Serve means that the create is in service and must Leave.
	Serve Verdict = iota
	// Wait means that the create is in line until Next takes it, or it must Abandon.
	Wait
	// Refuse means that the create has no place.
	Refuse
)

// Enter decides on a create that arrives.
func (g *Gate) Enter(now time.Time) Verdict {
	g.advance(now)
	if g.waiting == 0 {
		g.emptyAt = now
		if g.inside < g.Bound() {
			g.inside++
			return Serve
		}
	}
	g.full = true
	if float64(g.waiting+1) > g.rate*g.patience(now).Seconds() {
		return Refuse
	}
	g.waiting++
	return Wait
}

// patience returns the longest time for which a create may be expected to wait.
func (g *Gate) patience(now time.Time) time.Duration {
	if now.Sub(g.emptyAt) > g.policy.Interval {
		return g.policy.Standing
	}
	return g.policy.Burst
}

// Next takes the first create of the line into service, if there is one and a place for it.
func (g *Gate) Next(now time.Time) bool {
	if g.waiting == 0 || g.inside >= g.Bound() {
		return false
	}
	g.inside++
	g.Abandon(now)
	return true
}

// Abandon removes a create from the line.
func (g *Gate) Abandon(now time.Time) {
	if g.waiting--; g.waiting == 0 {
		g.emptyAt = now
	}
}

// Leave ends a create after its time in service. counts is false when the time says nothing about
// the node, because the create was not carried out.
func (g *Gate) Leave(now time.Time, took time.Duration, counts bool) {
	g.inside--
	g.ended++
	if counts {
		g.counted++
		g.spent += max(took, 0)
	}
	g.advance(now)
}

// advance ends the current interval when its time is over, and adapts the bound and the rate.
func (g *Gate) advance(now time.Time) {
	passed := now.Sub(g.start)
	if passed >= 0 && passed < g.policy.Interval {
		return
	}
	if first := g.start.IsZero(); !first && passed > 0 {
		g.measure(passed)
	}
	g.start, g.ended, g.counted, g.spent, g.full = now, 0, 0, 0, g.waiting > 0
}

// measure adapts the bound and the rate after an interval.
func (g *Gate) measure(passed time.Duration) {
	switch {
	case g.counted > 0:
		g.mean = g.spent / time.Duration(g.counted)
	case g.inside > 0 && g.ended == 0:
		g.mean = passed // those inside have not ended for a whole interval
	default:
		return
	}
	if change := float64(g.policy.Target) / float64(max(g.mean, 1)); change < 1 || g.full {
		g.bound *= min(max(change, slowest), fastest)
		g.bound = min(max(g.bound, float64(g.policy.Least)), float64(g.policy.Most))
	}
	if g.full {
		g.rate = max(leastRate, (1-newest)*g.rate+newest*float64(g.ended)/passed.Seconds())
	}
}

// Book returns after how many whole seconds a refused client should try again, 1 to
// Policy.Longest, and takes a place for it in that period. Without a free period it returns the
// least booked one in the later half.
func (g *Gate) Book(now time.Time) (seconds int) {
	g.forget(number(now))
	places := max(1, int(bookable*g.rate*period.Seconds()))
	best := g.policy.Longest
	for s := 1; s <= g.policy.Longest; s++ {
		switch n := *g.bookings(now, s); {
		case n < places:
			*g.bookings(now, s)++
			return s
		case 2*s > g.policy.Longest && n < *g.bookings(now, best):
			best = s
		}
	}
	*g.bookings(now, best)++
	return best
}

// number returns the number of the period that contains a time.
func number(t time.Time) int64 { return t.UnixNano() / int64(period) }

// bookings returns the count of the period that lies a number of seconds after now.
func (g *Gate) bookings(now time.Time, seconds int) *int {
	return &g.booked[number(now.Add(time.Duration(seconds)*time.Second))%int64(len(g.booked))]
}

// forget clears the periods before the current one, for use by later ones. After a jump of the
// clock it clears all.
func (g *Gate) forget(current int64) {
	if current < g.oldest || current-g.oldest >= int64(len(g.booked)) {
		clear(g.booked)
		g.oldest = current
		return
	}
	for ; g.oldest < current; g.oldest++ {
		g.booked[g.oldest%int64(len(g.booked))] = 0
	}
}
