package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
)

const (
	// restSteps bounds the steps until a run is at rest. A run that needs more hangs.
	restSteps = 3000
	// backoffMost is longer than any pause between two tries.
	backoffMost = 100 * time.Millisecond
)

// step draws the next step and runs it.
func (s *sim) step() error {
	switch p := s.random.IntN(100); {
	case p < s.crashes:
		s.crash()
	case p >= 98:
		s.advance([]time.Duration{time.Second, time.Hour, 23 * time.Hour, 25 * time.Hour}[s.random.IntN(4)])
	case p == 97:
		s.expire()
	case p == 96 && len(s.open) > 0:
		a := s.open[s.random.IntN(len(s.open))]
		s.note("gave up", "the client of %d gives up", a.number)
		a.cancel()
	default:
		busy := len(s.waiting) + len(s.detached)
		if len(s.open) < s.clients && (busy == 0 || s.random.IntN(100) < 42) {
			s.start()
		} else if busy > 0 {
			s.release(s.random.IntN(busy), true)
		}
	}
	return s.settle()
}

// release runs a call. When disturbed is true, the call may fail. i counts the waiting calls and then
// the detached ones.
func (s *sim) release(i int, disturbed bool) {
	if i >= len(s.waiting) {
		i -= len(s.waiting)
		c := s.detached[i]
		s.detached = slices.Delete(s.detached, i, i+1)
		err := c.do(context.Background())
		s.note("late commit", "%s arrives late: %v", c, err)
		return
	}
	c := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	if !c.carried {
		if disturbed && s.random.IntN(100) < s.broken {
			s.fail(c)
			return
		}
		c.err, c.carried = c.do(c.ctx), true
		if disturbed && s.random.IntN(100) < s.late {
			s.note("late answer", "%s", c)
			s.waiting = append(s.waiting, c)
			return
		}
	} else if err := c.ctx.Err(); err != nil && c.err == nil {
		c.err = err // the caller no longer waits
		if c.what == appending {
			c.err = &eventstore.UncertainError{Cause: err}
		}
	}
	s.answer(c, c.err)
}

// fail makes a call fail in one of the ways of a real database.
func (s *sim) fail(c *call) {
	if c.what != appending {
		err := errBroken
		if c.what == probing {
			err = errUpload
		}
		s.note("broken", "%s breaks", c)
		s.answer(c, err)
		return
	}
	doubt := &eventstore.UncertainError{Cause: errBroken}
	way := s.random.IntN(5)
	if s.deadlocks {
		way = 4
	}
	switch way {
	case 0:
		s.note("broken", "%s breaks before it begins", c)
		s.answer(c, errBroken)
	case 1:
		s.note("in doubt, lost", "%s is lost", c)
		s.answer(c, doubt)
	case 2:
		if err := c.do(c.ctx); err == nil {
			s.note("in doubt, recorded", "%s takes effect, its answer is lost", c)
		}
		s.answer(c, doubt)
	case 3:
		s.note("in doubt, detached", "%s loses its caller and continues", c)
		s.detached = append(s.detached, c)
		s.answer(c, doubt)
	default:
		s.note("deadlock", "%s meets a deadlock", c)
		s.answer(c, &eventstore.ConflictError{Actual: -1})
	}
}

// answer delivers a response to the node. After a conflict its lane pauses for a random time. answer
// waits until the pause is over, so that a run depends on its seed only. The lane's next call still
// waits at the gate.
func (s *sim) answer(c *call, err error) {
	s.trace = append(s.trace, fmt.Sprintf("    %s <- %v", c, err))
	c.answer <- err
	var conflict *eventstore.ConflictError
	if errors.As(err, &conflict) {
		s.met["conflict"]++
		synctest.Wait()
		time.Sleep(backoffMost)
	}
}

// crash replaces a node. Some of its appends may still take effect later.
func (s *sim) crash() {
	i := s.random.IntN(len(s.nodes))
	n := s.nodes[i]
	for _, c := range s.waiting {
		if c.node == n && c.what == appending && !c.carried && s.random.IntN(2) == 0 {
			s.detached = append(s.detached, c)
		}
	}
	var rest []*attempt
	for _, a := range s.open {
		if a.node == n {
			a.fate = unanswered
		} else {
			rest = append(rest, a)
		}
	}
	s.open = rest
	s.abandon(n)
	s.restarts++
	s.nodes[i] = s.newNode(fmt.Sprintf("n%d.%d", i, s.restarts), uint64(100+s.restarts))
	s.note("crash", "%s crashes, %s starts", n.name, s.nodes[i].name)
}

// advance lets time pass. After an hour, detached appends are dropped, because their connections are
// closed by then.
func (s *sim) advance(d time.Duration) {
	s.note("clock", "%s pass", d)
	s.clock.advance(d)
	if d > commitTimeout {
		s.detached = nil
		s.expire()
	}
}

// expire advances the clock past the deadlines of all groups.
func (s *sim) expire() {
	s.note("deadline", "the deadlines of all groups pass")
	time.Sleep(commitTimeout)
}

func (s *sim) note(what, format string, args ...any) {
	s.met[what]++
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// settle waits until all goroutines are blocked and checks the laws.
func (s *sim) settle() error {
	synctest.Wait()
	if err := s.gather(); err != nil {
		return err
	}
	if err := s.oracle.follow(); err != nil {
		return err
	}
	for _, n := range s.nodes {
		if err := s.checkMemory(n); err != nil {
			return err
		}
	}
	var open []*attempt
	for _, a := range s.open {
		select {
		case a.outcome = <-a.result:
			if err := s.judge(a); err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
		default:
			open = append(open, a)
		}
	}
	s.open = open
	return nil
}

// gather sorts the calls that arrived during the step. They may come from several clients but from one
// lane only. Otherwise their order would depend on the Go scheduler.
func (s *sim) gather() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.arrived, func(a, b *call) int { return cmp.Compare(a.by, b.by) })
	for i, c := range s.arrived {
		if i > 0 && c.by == 0 {
			return errors.New("two lanes moved in one step: the simulation is not deterministic")
		}
		s.trace = append(s.trace, "    "+c.String()+" waits")
	}
	s.waiting = append(s.waiting, s.arrived...)
	s.arrived = nil
	return nil
}

// checkMemory checks that the cached state of a stream equals the fold of the log.
func (s *sim) checkMemory(n *node) error {
	for _, l := range n.Pipeline.lanes {
		if len(l.cache.old) > 0 {
			return errors.New("the cache of a lane has a second generation, which this check does not cover")
		}
		for id, known := range l.cache.young {
			at := memoryKey{l, id}
			if s.checked[at] == known.version {
				continue
			}
			s.checked[at] = known.version
			s.met["remembered"]++
			if err := s.oracle.matches(id, known); err != nil {
				return fmt.Errorf("%s remembers %s wrongly: %w", n.name, id, err)
			}
		}
	}
	return nil
}

type memoryKey struct {
	lane   *lane
	stream eventstore.StreamID
}

// matches compares a cached state with the fold of the log.
func (o *oracle) matches(id eventstore.StreamID, known aggregateState) error {
	t := o.streams[id]
	if t == nil || known.version > int64(len(t.states)) || known.version < 1 {
		return fmt.Errorf("version %d is not in the log", known.version)
	}
	if known.chain != t.chains[known.version-1] {
		return fmt.Errorf("another chain at version %d", known.version)
	}
	if known.snapshotVersion > known.version {
		return fmt.Errorf("a snapshot of version %d at version %d", known.snapshotVersion, known.version)
	}
	if diff := difference(t.states[known.version-1], known.state); diff != "" {
		return fmt.Errorf("at version %d (-log +memory)\n%s", known.version, diff)
	}
	return nil
}

// rest runs until all commands have ended, without further failures.
func (s *sim) rest() error {
	s.note("rest", "no more commands")
	for range restSteps {
		for i := range slices.Backward(s.detached) {
			if s.random.IntN(2) == 0 {
				s.detached = slices.Delete(s.detached, i, i+1)
			}
		}
		busy := len(s.waiting) + len(s.detached)
		if busy == 0 {
			if len(s.open) > 0 {
				return fmt.Errorf("%s never got an answer", s.open[0])
			}
			return nil
		}
		s.release(s.random.IntN(busy), false)
		if err := s.settle(); err != nil {
			return err
		}
	}
	return fmt.Errorf("still busy after %d steps of rest", restSteps)
}

// end ends all open work: each hold expires, and each video can be deleted.
func (s *sim) end() error {
	s.calm.Store(true)
	s.advance(2 * holdLife)
	s.store = s.log
	n := s.newNode("end", 99)
	s.nodes = append(s.nodes, n)
	ctx := context.Background()
	for _, h := range s.oracle.openHolds() {
		if err := n.ExpireHold(ctx, h.account, h.source); err != nil {
			return fmt.Errorf("the end: %w", err)
		}
	}
	if err := s.settle(); err != nil {
		return fmt.Errorf("the end: %w", err)
	}
	if left := s.oracle.openHolds(); len(left) > 0 {
		return fmt.Errorf("the end: the hold of %s never ends", left[0].source)
	}
	for _, caller := range s.callers {
		for _, id := range s.oracle.videos[caller.AccountID] {
			err := n.DeleteVideo(ctx, caller, id)
			fixture := s.oracle.isFixture(id) && fault.Has(err, fault.ResourceConflict) // a fixture cannot be deleted
			if err != nil && !fixture && !fault.Has(err, fault.ResourceNotFound) {
				return fmt.Errorf("the end: %s cannot be removed: %w", id, err)
			}
		}
	}
	if err := s.settle(); err != nil {
		return fmt.Errorf("the end: %w", err)
	}
	return s.oracle.atRest(ctx)
}
