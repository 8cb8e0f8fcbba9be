package command

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"vqa/eventstore"
)

const (
	// turnTime is how long a process keeps the turn of an account while commands wait. A change
	// of turns costs about one group, and the commands of other processes wait as long.
	turnTime = 5 * time.Millisecond
	// aloneTurns is the number of turns in sequence that no other process wanted, after which the
	// account returns to its shared lane. ownIdle is the time without commands after which it does.
	aloneTurns = 16
	ownIdle    = time.Second
	// maxOwn bounds the accounts with a lane of their own. Each needs a connection more than a
	// shared lane. Further accounts stay in their shared lanes, where their appends hold locks.
	maxOwn = 4
	// ownCache bounds the cached aggregates of such a lane.
	ownCache = 256
)

// try decides and appends a group. After freeTries conflicts about the streams lost, it locks the
// streams first.
func (p *Pipeline) try(ctx context.Context, l *lane, group []*task, lost []eventstore.StreamID) ([]error, error) {
	if p.Turns == nil || len(lost) < freeTries {
		return p.attempt(ctx, l, group)
	}
	held, release, err := p.Turns.Hold(ctx, slices.Concat(declared(group, nil), lost)...)
	if err != nil {
		return nil, err
	}
	defer release()
	return p.attempt(held, l, group)
}

// pause waits after a conflict for a random time, at most 2^try ms and at most 100 ms. With turns
// it does not wait, because the next tries use loaded state and then locks.
func (p *Pipeline) pause(ctx context.Context, try int) {
	if p.Turns != nil && try <= freeTries {
		return
	}
	limit := min(time.Duration(1<<min(try, 7))*time.Millisecond, 100*time.Millisecond)
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// contend notes the account whose stream was changed twice by another process while a group was
// decided.
func (l *lane) contend(group []*task, lost []eventstore.StreamID) {
	if len(lost) < freeTries {
		return
	}
	last := lost[len(lost)-1]
	for _, t := range group {
		if slices.Contains(t.intent.streams, last) {
			l.contested = append(l.contested, t.intent.accountID)
			return
		}
	}
}

// separate gives each contested account of a lane a lane of its own. So the commands of other
// accounts do not wait for its turns.
func (p *Pipeline) separate(ctx context.Context, l *lane, wg *sync.WaitGroup) {
	contested := l.contested
	l.contested = nil
	if p.Turns == nil || len(contested) == 0 || ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, accountID := range contested {
		if p.own[accountID] == nil && len(p.own) < maxOwn {
			own := newLane(ownCache)
			p.own[accountID] = own
			wg.Go(func() { p.workOwn(ctx, accountID, own) })
		}
	}
}

// workOwn is the life of a lane of one account. It ends when no other process changes the account.
func (p *Pipeline) workOwn(ctx context.Context, accountID string, l *lane) {
	idle := time.NewTimer(ownIdle)
	defer idle.Stop()
	for alone := 0; alone < aloneTurns && ctx.Err() == nil; {
		idle.Reset(ownIdle)
		select {
		case <-l.arrived:
		case <-idle.C:
			alone = aloneTurns
		case <-ctx.Done():
		}
		for l.waiting.Load() > 0 {
			if p.turn(accountID, l) {
				alone++
			} else {
				alone = 0
			}
		}
	}
	p.mu.Lock()
	delete(p.own, accountID)
	p.mu.Unlock()
	for l.waiting.Load() > 0 { // commands that came before the lane was removed
		p.run(l, l.gather())
	}
}

// turn waits for the turn of an account and commits the waiting commands, for about turnTime. It
// returns true when no other process wanted the turn.
func (p *Pipeline) turn(accountID string, l *lane) (alone bool) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	ctx, patience := eventstore.WithPatience(ctx, eventstore.CallerPatience)
	waited, end, err := p.Turns.Turn(ctx, accountID)
	switch {
	case patience.Over():
		l.refuseWaiting()
		return false
	case err != nil:
		p.log.Warn("could not wait for the turn of an account", "account", accountID, "error", err)
	default:
		defer end()
	}
	if waited || err != nil {
		l.cache = newCache(ownCache) // the other process has changed the account
	}
	for began := time.Now(); time.Since(began) < turnTime; {
		group := l.gather()
		if len(group) == 0 {
			break
		}
		p.run(l, group)
		l.contested = nil // it has its own lane already
	}
	return !waited && err == nil
}
