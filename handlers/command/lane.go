package command

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vqa/domain/fault"
)

const (
	// laneDepth bounds the commands that wait in a lane, without those of test mode. Test mode is never
	// refused for capacity (docs/contract.md#limits), so the requests in service bound its commands.
	laneDepth = 512
	// groupMax bounds the commands of one append.
	groupMax = 128
)

// lane commits the commands of some accounts, one group after another. Each account has its own
// line, and the accounts take turns when a group is gathered. So a command waits for the current
// group and joins the next one, if at most groupMax accounts wait.
type lane struct {
	cache *cache
	// last is the number of commands in the previous group.
	last int
	// yieldLimit is how often gather yields while it waits for as many commands again.
	yieldLimit int

	// arrived holds a token when commands may be waiting.
	arrived chan struct{}
	// waiting counts the commands of all lines. It is written under mu.
	waiting atomic.Int64

	mu sync.Mutex
	// live counts those that are not of test mode.
	live int
	// lines has the line of each account that has waiting commands.
	lines map[string]*line
	// turns has the same lines. The first one is next.
	turns []*line
	// took is the duration of the previous group.
	took time.Duration

	// contested has the accounts of the previous groups that another process keeps changing.
	contested []string
}

// line has the waiting commands of one account, in the order of arrival.
type line struct {
	accountID string
	tasks     []*task
	// live counts the tasks that are not of test mode.
	live int
}

func newLane(cacheSize int) *lane {
	return &lane{cache: newCache(cacheSize), yieldLimit: maxYields, arrived: make(chan struct{}, 1), lines: map[string]*line{}}
}

// push adds a command to the line of its account. When the lane is full, the account with the most
// live commands loses its newest one. So an account is refused only when it has about as many as
// that one, and a busy account never causes the refusal of a quiet one.
func (l *lane) push(t *task) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.lines[t.intent.accountID]
	if !t.intent.test && l.live >= laneDepth {
		length := 0
		if own != nil {
			length = own.live
		}
		longest := l.longest()
		if length+1 >= longest.live {
			return l.refusal(own)
		}
		l.displace(longest)
	}
	if own == nil {
		own = &line{accountID: t.intent.accountID}
		l.lines[own.accountID] = own
		l.turns = append(l.turns, own)
	}
	own.tasks = append(own.tasks, t)
	l.count(own, t, 1)
	select {
	case l.arrived <- struct{}{}:
	default:
	}
	return nil
}

// count adds n to the numbers of waiting commands that include a task.
func (l *lane) count(of *line, t *task, n int) {
	l.waiting.Add(int64(n))
	if !t.intent.test {
		of.live += n
		l.live += n
	}
}

// longest returns the line with the most live commands. The lane must have a line.
func (l *lane) longest() *line {
	longest := l.turns[0]
	for _, one := range l.turns {
		if one.live > longest.live {
			longest = one
		}
	}
	return longest
}

// displace refuses the newest live command of a line with at least two.
func (l *lane) displace(from *line) {
	for i, t := range slices.Backward(from.tasks) {
		if t.intent.test {
			continue
		}
		if t.claim() {
			t.done <- l.refusal(from)
		}
		from.tasks = slices.Delete(from.tasks, i, i+1)
		l.count(from, t, -1)
		return
	}
}

// refusal is the error for a live command that does not fit into a line. own is nil when the account
// has no line. The caller may come back when the commands that wait now are done, at the speed of the
// previous group.
func (l *lane) refusal(own *line) error {
	groups, whose := 1+laneDepth/groupMax, ""
	if own != nil && own.live > 0 {
		share := max(1, groupMax/len(l.turns))
		groups, whose = 1+(len(own.tasks)+share-1)/share, " of this account"
	}
	seconds := max(1, int((time.Duration(groups)*l.took+time.Second-1)/time.Second))
	unit := "seconds"
	if seconds == 1 {
		unit = "second"
	}
	return fault.Newf(fault.CapacityExhausted, "Too many requests%s are waiting. Try again in %d %s.", whose, seconds, unit).WithRetryAfter(seconds)
}

// next removes the next command: the oldest one of the account whose turn it is. It returns nil when
// none waits.
func (l *lane) next() *task {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.turns) == 0 {
		return nil
	}
	first := l.turns[0]
	l.turns = l.turns[1:]
	t := first.tasks[0]
	first.tasks[0] = nil
	first.tasks = first.tasks[1:]
	l.count(first, t, -1)
	if len(first.tasks) > 0 {
		l.turns = append(l.turns, first)
	} else {
		delete(l.lines, first.accountID)
	}
	return t
}

// take returns up to n commands, one of each account in turn, until every line is empty. It leaves
// out commands that their callers gave up. Others may arrive while it runs, so that groups grow.
func (l *lane) take(n int) []*task {
	var taken []*task
	for len(taken) < n {
		t := l.next()
		if t == nil {
			break
		}
		if t.claim() {
			taken = append(taken, t)
		}
	}
	return taken
}

// The bounds of a lane's yieldLimit. 1000 yields take 0.1 ms when no other goroutine runs.
const (
	minYields = 10
	maxYields = 1000
)

// gather takes the commands of the next group. After a group of several it first yields to their
// callers, which often send the next command at once. Yielding pays, because two half groups
// cost nearly as much as two full ones. When it did not help, gather yields less the next
// time. There is no delay when the service is idle.
func (l *lane) gather() []*task {
	if l.last > 1 {
		yields := 0
		for ; int(l.waiting.Load()) < l.last && yields < l.yieldLimit; yields++ {
			runtime.Gosched()
		}
		if yields < l.yieldLimit {
			l.yieldLimit = min(2*l.yieldLimit, maxYields)
		} else {
			l.yieldLimit = max(l.yieldLimit/2, minYields)
		}
	}
	group := l.take(groupMax)
	l.last = len(group)
	return group
}

// finished records how long a group took.
func (l *lane) finished(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = took
}

// refuseWaiting refuses the commands that waited behind a group for which the log did not
// respond. They have already waited as long as that group.
func (l *lane) refuseWaiting() {
	for _, t := range l.take(int(l.waiting.Load())) {
		t.done <- logSilent(nil)
	}
}
