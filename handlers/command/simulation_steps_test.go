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
	// restSteps bound how long a run may take to come to rest: after that it hangs.
	restSteps = 3000
	// backoffMost is longer than the longest pause between two tries.
	backoffMost = 100 * time.Millisecond
)

// step draws what happens next.
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
		busy := len(s.waiting) + len(s.adrift)
		if len(s.open) < s.clients && (busy == 0 || s.random.IntN(100) < 42) {
			s.start()
		} else if busy > 0 {
			s.release(s.random.IntN(busy), true)
		}
	}
	return s.settle()
}

// release lets a call go on, or, when disturbed, perhaps go wrong; those adrift are counted
// after the waiting.
func (s *sim) release(i int, disturbed bool) {
	if i >= len(s.waiting) {
		i -= len(s.waiting)
		c := s.adrift[i]
		s.adrift = slices.Delete(s.adrift, i, i+1)
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
		c.err = err // nobody waited any longer
		if c.what == appending {
			c.err = &eventstore.UncertainError{Cause: err}
		}
	}
	s.answer(c, c.err)
}

// fail lets a call go wrong in one of the ways in which a database can.
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
	if s.stormy {
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
		s.note("in doubt, adrift", "%s is given up and goes on", c)
		s.adrift = append(s.adrift, c)
		s.answer(c, doubt)
	default:
		s.note("deadlock", "%s meets a deadlock", c)
		s.answer(c, &eventstore.ConflictError{Actual: -1})
	}
}

// answer brings an answer to the node. After a conflict its lane pauses for a random
// moment: letting all of it pass at once keeps the run a function of its seed, and the
// lane's next call can still wait at the gate for as long as it takes.
func (s *sim) answer(c *call, err error) {
	s.trace = append(s.trace, fmt.Sprintf("    %s <- %v", c, err))
	c.answer <- err
	var conflict *eventstore.ConflictError
	if errors.As(err, &conflict) {
		s.met["conflict"]++
		if conflict.Actual < 0 {
			s.disturbances++
		}
		synctest.Wait()
		time.Sleep(backoffMost)
	}
}

// crash replaces a node. Some of its appends were on their way and may still arrive.
func (s *sim) crash() {
	i := s.random.IntN(len(s.nodes))
	n := s.nodes[i]
	for _, c := range s.waiting {
		if c.node == n && c.what == appending && !c.carried && s.random.IntN(2) == 0 {
			s.adrift = append(s.adrift, c)
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

// advance lets time pass. No append takes an hour: by then its connection is closed.
func (s *sim) advance(d time.Duration) {
	s.note("clock", "%s pass", d)
	s.clock.advance(d)
	if d > commitTimeout {
		s.adrift = nil
		s.expire()
	}
}

// expire lets the deadlines of all groups pass.
func (s *sim) expire() {
	s.note("deadline", "the deadlines of all groups pass")
	time.Sleep(commitTimeout)
	s.disturbances += maxTries // no group under way has another try
}

func (s *sim) note(what, format string, args ...any) {
	s.met[what]++
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// settle waits until nothing moves and holds what came of the step to the laws.
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

// gather orders the calls that arrived during the step: several clients may, but only one
// lane, else their order would be the Go scheduler's.
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

// checkMemory: what a lane remembers of a stream is what the log folds to.
func (s *sim) checkMemory(n *node) error {
	for _, l := range n.Pipeline.lanes {
		if len(l.cache.old) > 0 {
			return errors.New("the memory of a lane is larger than this check knows")
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

// matches holds a remembered state to the fold of the log.
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

// rest lets everything under way come to its end without further mishap.
func (s *sim) rest() error {
	s.note("rest", "no more commands")
	for range restSteps {
		for i := range slices.Backward(s.adrift) {
			if s.random.IntN(2) == 0 {
				s.adrift = slices.Delete(s.adrift, i, i+1)
			}
		}
		busy := len(s.waiting) + len(s.adrift)
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

// end runs the service on until nothing is open: each hold expires, each video can go.
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
			fixture := s.oracle.isFixture(id) && fault.Has(err, fault.ResourceConflict) // it stays with its test key
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
