package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/memory"
	"vqa/handlers/intake/fixture"
)

// profile has the parameters of a run. They are drawn from the seed.
type profile struct {
	nodes, accounts, clients int
	// broken is the percentage of calls that fail. crashes is the percentage of steps that crash
	// a node. late is the percentage of calls whose response comes later than their effect.
	broken, crashes, late int
	// deadlocks is true when most appends meet a deadlock.
	deadlocks bool
	// maxActive is the concurrency limit of an account.
	maxActive int
	// outage is true when a platform incident is open during the whole run.
	outage bool
	// aged is true when accounts have so many events that snapshots are written.
	aged bool
}

func newProfile(r *rand.Rand) profile {
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	c := profile{
		nodes: pick(1, 2, 2, 3), accounts: pick(1, 1, 2, 3), clients: pick(2, 5, 9), broken: pick(0, 0, 6, 25),
		crashes: pick(0, 2, 5), late: pick(0, 20, 40), maxActive: pick(2, 100, 100),
		deadlocks: r.IntN(20) == 0, aged: r.IntN(25) == 0, outage: r.IntN(3) == 0,
	}
	if c.deadlocks {
		c.broken = 95
	}
	return c
}

// sandboxesMost is the limit of sandboxes from one address in 24 hours.
const sandboxesMost = 2

// sim is one run.
type sim struct {
	seed   uint64
	random *rand.Rand
	profile
	clock *clock
	log   *memory.Store
	// store is the log that the nodes use.
	store  eventstore.Store
	oracle *oracle
	nodes  []*node
	// calm is true while every call runs at once.
	calm atomic.Bool

	mu sync.Mutex
	// arrived has the calls that came to the gate since the last step. waiting has the earlier
	// ones.
	arrived, waiting []*call
	// detached has the appends whose node no longer waits for the response.
	detached []*call

	// attempts has all commands. open has those without a response.
	attempts, open []*attempt
	callers        []Caller
	// checked has the cached versions that were compared with the log.
	checked  map[memoryKey]int64
	restarts int
	trace    []string
	met      map[string]int
}

// node is one process of the service.
type node struct {
	*Service
	sim   *sim
	name  string
	dead  atomic.Bool
	stop  context.CancelFunc
	lanes sync.WaitGroup
}

func newSim(seed uint64) *sim {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &sim{seed: seed, random: r, profile: newProfile(r), clock: newClock(), met: map[string]int{}, checked: map[memoryKey]int64{}}
	s.log = memory.New(codec.Events(), s.clock.Now)
	s.store = s.log
	s.oracle = newOracle(s.log, s.met)
	return s
}

// newNode starts a node. Its ids and secrets are derived from the seed and salt.
func (s *sim) newNode(name string, salt uint64) *node {
	n := &node{sim: s, name: name}
	entropy := func(what uint64) *rand.ChaCha8 {
		var key [32]byte
		for i, v := range []uint64{s.seed, salt, what} {
			for b := range 8 {
				key[8*i+b] = byte(v >> (8 * b))
			}
		}
		return rand.NewChaCha8(key)
	}
	g := &gate{Store: s.store, node: n}
	incidents := &fakeIncidents{}
	if s.outage {
		incidents.open = "inc_sim"
	}
	pipeline := NewPipeline(g, s.clock.Now, slog.New(slog.DiscardHandler))
	n.Service = NewService(Dependencies{
		Store: g, Pipeline: pipeline, IDs: id.NewSource(s.clock.Now, entropy(1)), Entropy: entropy(2), Now: s.clock.Now,
		Catalog: model.Catalog{{ID: "main-2", Status: model.Stable, Default: true}},
		Limits: Limits{
			MaxVideoDuration: 4 * time.Hour, MaxConcurrentAnalyses: s.maxActive, AnalysisQueueCap: 1000, SandboxPerIP: sandboxesMost,
			UpgradesPerAddress: upgradesMost, UpgradesPerDay: 1000, SignupGrantSeconds: 20,
		},
		Uploads: &gatedUploads{n}, Capacity: &capacity{}, Fixture: fixture.Fixture{}, Incidents: incidents,
	})
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	n.lanes.Go(func() { pipeline.Run(ctx) })
	return n
}

// stop ends every node.
func (s *sim) stop() {
	s.waiting = append(s.waiting, s.arrived...)
	for _, n := range s.nodes {
		s.abandon(n)
	}
}

// run runs the simulation: begin, the drawn steps, rest and end. The error names the law that was
// broken.
func (s *sim) run(flawed func(eventstore.Store) eventstore.Store) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("the beginning: %w", err)
	}
	if flawed != nil {
		s.store = flawed(s.log)
	}
	for i := range s.profile.nodes {
		s.nodes = append(s.nodes, s.newNode(fmt.Sprintf("n%d", i), uint64(i)))
	}
	for range simSteps {
		if err := s.step(); err != nil {
			return err
		}
	}
	if err := s.rest(); err != nil {
		return err
	}
	if err := s.judgeAll(); err != nil {
		return err
	}
	return s.end()
}

// begin creates the accounts and their videos without failures. It uses a separate node, so that the
// other nodes start with empty caches.
func (s *sim) begin() error {
	s.calm.Store(true)
	defer s.calm.Store(false)
	ctx, n := context.Background(), s.newNode("begin", 98)
	defer s.abandon(n)
	for range s.accounts {
		tier := []account.Tier{account.Paid, account.FreeGrant}[s.random.IntN(2)]
		funds := []int64{0, 20, 60, 100, 1000}[s.random.IntN(5)]
		key, err := n.IssueKey(ctx, NewKey{Mode: account.Live, Tier: tier, Name: "sim", GrantSeconds: funds, Operator: "sim"})
		if err != nil {
			return err
		}
		caller := Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: tier, RequestID: "req_0"}
		s.callers = append(s.callers, caller)
		for range 1 + s.random.IntN(2) {
			v, err := n.CreateVideo(ctx, caller, CreateVideo{ContentType: "video/mp4"})
			if err != nil {
				return err
			}
			if _, err := n.CompleteVideo(ctx, caller, v.ID); err != nil && !fault.Has(err, fault.VideoTooLong) {
				return err
			}
		}
		if s.aged {
			if err := s.age(key.AccountID); err != nil {
				return err
			}
		}
	}
	key, err := n.IssueSandbox(ctx, Caller{RequestID: "req_0"}, "address")
	if err != nil {
		return err
	}
	s.callers = append(s.callers, Caller{AccountID: key.AccountID, KeyID: key.KeyID, Tier: account.Sandbox, RequestID: "req_0"})
	return s.oracle.follow()
}

// age gives an account a history so long that the next events lead to its first snapshot.
func (s *sim) age(accountID string) error {
	ctx, stream := context.Background(), fold.Credit.Stream(accountID)
	histories, err := s.log.Load(ctx, stream)
	if err != nil {
		return err
	}
	h := histories[stream]
	w := eventstore.Write{Stream: stream, Expected: h.Version, Chain: h.Chain}
	balance, err := fold.Credit.Restore(h)
	if err != nil {
		return err
	}
	for i := range snapshotEvery - 3 - int(h.Version) {
		balance.PostedSeconds++
		w.Events = append(w.Events, eventstore.NewEvent{
			Event: credit.Granted{
				AccountID: accountID, TransactionID: fmt.Sprintf("txn_old%d_%s", i, accountID), Kind: credit.Purchase, Seconds: 1,
				BalanceAfter: balance.PostedSeconds, At: s.clock.Now(),
			},
			Meta: eventstore.Meta{AccountID: accountID, RequestID: "req_0"},
		})
	}
	_, err = s.log.Append(ctx, eventstore.Batch{Writes: []eventstore.Write{w}})
	return err
}

// abandon crashes a node: its calls never return, and its responses are ignored.
func (s *sim) abandon(n *node) {
	n.dead.Store(true)
	n.stop()
	s.waiting = slices.DeleteFunc(s.waiting, func(c *call) bool {
		if c.node == n {
			c.answer <- errDead
		}
		return c.node == n
	})
	n.lanes.Wait()
}

var (
	errDead   = errors.New("the process is gone")
	errUpload = fault.New(fault.UploadIncomplete, "Nothing was uploaded.")
)

// fileOf returns the result of probing a video. It depends on the id only.
func fileOf(videoID, contentType string) video.File {
	f := video.File{SizeBytes: 1000, ContentType: contentType, ObjectKey: "videos/" + videoID}
	switch videoID[len(videoID)-1] % 8 {
	case 0:
		f.DurationMicros = micros(5 * 3600 * 1_000_000) // longer than the plan allows
	case 1:
		// of unknown length
	case 2, 3:
		f.DurationMicros = micros(2_500_000)
	default:
		f.DurationMicros = micros(9_400_000)
	}
	return f
}
