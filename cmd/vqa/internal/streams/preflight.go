package streams

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/streaming/peer"
)

const (
	// preflightLife is how long the id of a test, and the credentials of the relay with it, are valid.
	preflightLife = 2 * time.Minute
	// preflightTime bounds the search for a path, from the offer.
	preflightTime = 15 * time.Second
	// preflightSettle is how long other paths may succeed after the first one.
	preflightSettle = time.Second
	// preflightKept is how long a test is kept after its offer, so that its report can be read.
	preflightKept = 45 * time.Second
	// preflightsEach and preflightsTotal bound the tests that run, of an account and of this node.
	preflightsEach  = 4
	preflightsTotal = 64
	// preflightsKept bounds the tests whose reports are kept.
	preflightsKept = 512
)

// preflights are the tests of connections that run on this node. A test that has no offer yet takes nothing: its
// id has all that is known of it, with a MAC.
type preflights struct {
	node *Node

	ctx     context.Context //nolint:containedctx // its end stops the tests
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	tests map[string]*preflight // by id
}

func newPreflights(n *Node) *preflights {
	p := &preflights{node: n, tests: map[string]*preflight{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// close ends all tests.
func (p *preflights) close() {
	p.mu.Lock()
	p.stop() // with the lock, no test starts afterwards
	p.mu.Unlock()
	p.running.Wait()
}

// preflight is a test with an offer.
type preflight struct {
	account string
	began   time.Time
	// answer and peer are set once the offer is answered.
	answer string
	peer   *peer.Peer
	// done is closed when report is set.
	done   chan struct{}
	report httpapi.PreflightReport
}

// over reports whether the test has its report.
func (t *preflight) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Preflight implements httpapi.LiveStreams.
func (n *Node) Preflight(ctx context.Context, accountID string, s httpapi.PreflightStep) (httpapi.Preflight, string, error) {
	t := n.current()
	if t == nil {
		return httpapi.Preflight{}, "", fault.New(fault.CapacityExhausted, "This node is starting or stopping. Try again.").WithRetryAfter(1)
	}
	own := t.lease.Incarnation()
	if s.ID == "" {
		s.ID = n.preflights.id(own, accountID)
	}
	node, expires, err := n.preflights.open(s.ID, accountID)
	switch {
	case err != nil:
		return httpapi.Preflight{}, "", err
	case node != own:
		address, err := n.Presence.Address(ctx, node)
		if err == nil && address == "" {
			err = unknownPreflight(s.ID)
		}
		return httpapi.Preflight{}, address, err
	}
	state := httpapi.Preflight{ID: s.ID, ExpiresAt: expires, ICEServers: []httpapi.ICEServer{}}
	for _, server := range n.Media.ICEServers("preflight-"+n.hidden(accountID), expires.Sub(n.Now()), s.Livemode) {
		state.ICEServers = append(state.ICEServers, httpapi.ICEServer(server))
	}
	err = n.preflights.step(ctx, accountID, s, &state)
	return state, "", err
}

// step answers an offer, adds candidates, or waits for the report.
func (p *preflights) step(ctx context.Context, accountID string, s httpapi.PreflightStep, state *httpapi.Preflight) error {
	if s.Offer != "" {
		answer, err := p.start(ctx, accountID, s)
		if err != nil {
			return err
		}
		state.Answer = answer
	}
	t := p.answered(s.ID)
	if t == nil {
		if len(s.Candidates) > 0 {
			return fault.New(fault.ResourceConflict, "This test has no offer, or it is over. Send `sdp` first.")
		}
		return nil
	}
	state.Answer = t.answer
	for _, c := range s.Candidates {
		init := peer.Candidate{Candidate: c.Candidate, SDPMid: c.SDPMid, SDPMLineIndex: c.SDPMLineIndex, UsernameFragment: c.UsernameFragment}
		if err := offerFault(t.peer.AddCandidate(init), "candidates"); err != nil {
			return err
		}
	}
	if s.Offer != "" || len(s.Candidates) > 0 {
		return nil
	}
	select {
	case <-t.done:
		state.Report = &t.report
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answered returns a test whose offer was answered, or nil.
func (p *preflights) answered(id string) *preflight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tests[id]; t != nil && t.peer != nil {
		return t
	}
	return nil
}

// start answers the offer of a test and runs it.
func (p *preflights) start(ctx context.Context, accountID string, s httpapi.PreflightStep) (string, error) {
	t := &preflight{account: accountID, began: p.node.Now(), done: make(chan struct{})}
	if err := p.enter(s.ID, t); err != nil {
		return "", err
	}
	connected := make(chan struct{})
	var once sync.Once
	opened, err := p.node.Media.Open(peer.Session{
		ID: s.ID, Relay: "preflight-" + p.node.hidden(accountID), Transport: transportOf(s.Transport),
		Changed: func(st peer.State) {
			if st == peer.Connected {
				once.Do(func() { close(connected) })
			}
		},
	})
	if err != nil {
		p.leave(s.ID)
		return "", err
	}
	answer, err := opened.Answer(ctx, s.Offer)
	if err == nil {
		err = p.run(s.ID, t, opened, answer, connected)
	}
	if err != nil {
		opened.Close()
		p.leave(s.ID)
		return "", offerFault(err, "sdp")
	}
	return answer, nil
}

// run runs a test whose offer was answered, until its report was kept for long enough.
func (p *preflights) run(id string, t *preflight, opened *peer.Peer, answer string, connected <-chan struct{}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return fault.New(fault.CapacityExhausted, "This node is stopping. Try again.").WithRetryAfter(1)
	}
	t.answer, t.peer = answer, opened
	p.running.Go(func() {
		kept, cancel := context.WithTimeout(p.ctx, preflightKept)
		defer cancel()
		t.run(kept, connected, p.node.Now)
		<-kept.Done()
		p.leave(id)
	})
	return nil
}

// run waits for a connection and makes the report.
func (t *preflight) run(ctx context.Context, connected <-chan struct{}, now func() time.Time) {
	defer t.peer.Close()
	limit, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	select {
	case <-connected:
		t.report.Connected, t.report.Took = true, now().Sub(t.began)
		select {
		case <-time.After(preflightSettle):
		case <-limit.Done():
		}
	case <-limit.Done():
	}
	d := t.peer.Diagnostics()
	worked := d.Reached()
	t.report.UDP, t.report.TCP, t.report.Relay, t.report.LocalCandidates = worked.UDP, worked.TCP, worked.Relay, d.Local
	if !t.report.Connected {
		t.report.Hint = d.Hint
	}
	close(t.done)
}

// enter takes a place for a test. Errors: resource_conflict, concurrency_limit_exceeded, capacity_exhausted.
func (p *preflights) enter(id string, t *preflight) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	own, all := 0, 0
	for _, other := range p.tests {
		if other.over() {
			continue
		}
		all++
		if other.account == t.account {
			own++
		}
	}
	_, known := p.tests[id]
	switch {
	case known:
		return fault.New(fault.ResourceConflict, "This test has an offer already. Start another one without `id`.")
	case own >= preflightsEach:
		return fault.Newf(fault.ConcurrencyLimitExceeded, "%d tests of this account run. Wait for their end.", own).WithRetryAfter(int(preflightTime / time.Second))
	case all >= preflightsTotal, len(p.tests) >= preflightsKept:
		return fault.New(fault.CapacityExhausted, "Too many tests run on this node. Try again later.").WithRetryAfter(int(preflightTime / time.Second))
	}
	p.tests[id] = t
	return nil
}

func (p *preflights) leave(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tests, id)
}

// id returns the id of a new test: the node, the end of its life and a nonce, with a MAC that binds them to the account.
// So a test that gets no offer takes no memory.
func (p *preflights) id(node, accountID string) string {
	at := strconv.FormatInt(p.node.Now().Add(preflightLife).Unix(), 10)
	content := strings.Join([]string{node, at, rand.Text()}, " ")
	return base64.RawURLEncoding.EncodeToString([]byte(content)) + "~" + p.mac(content, accountID)
}

func (p *preflights) mac(content, accountID string) string {
	m := hmac.New(sha256.New, p.node.PreflightKey)
	m.Write([]byte(content + "\n" + accountID))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}

// open returns the node of a test, and when its id expires. Error: resource_not_found for an id of another account, and
// for one that has expired.
func (p *preflights) open(id, accountID string) (node string, expires time.Time, err error) {
	encoded, mac, _ := strings.Cut(id, "~")
	content, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !hmac.Equal([]byte(mac), []byte(p.mac(string(content), accountID))) {
		return "", time.Time{}, unknownPreflight(id)
	}
	parts := strings.Split(string(content), " ")
	unix, err := strconv.ParseInt(parts[1], 10, 64)
	if expires = time.Unix(unix, 0); err != nil || !p.node.Now().Before(expires) {
		return "", time.Time{}, unknownPreflight(id)
	}
	return parts[0], expires, nil
}

func unknownPreflight(id string) error { return fault.NotFound("id", id) }

// transportOf converts the name of a transport.
func transportOf(name string) peer.Transport {
	if name == "any" {
		return peer.AnyTransport
	}
	return peer.Transport(name)
}

// offerFault returns the fault of an offer or a candidate that cannot be used.
func offerFault(err error, param string) error {
	var refused *peer.OfferError
	switch {
	case errors.As(err, &refused):
		return fault.Invalid(fault.Violation{Param: param, Code: fault.Format, Message: refused.Message})
	case errors.Is(err, peer.ErrClosed):
		return fault.New(fault.ResourceConflict, "This test is over.")
	}
	return err
}
