package command

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/memory"
)

// testCommand is a command on one or two accounts. When the second part is refused, the first part
// must leave no events.
type testCommand struct {
	parts []part
	// declared is true when the streams are loaded with those of the group. Otherwise they are
	// loaded on first use.
	declared, dry bool
}

type part struct {
	account string
	command credit.Command
}

// TestGroupIsASequence: commands that are decided together have the same results, and leave the same
// log, as one after another. This must hold for any grouping and any content of the lane's cache.
func TestGroupIsASequence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var commands []testCommand
		for i := range rapid.IntRange(1, 16).Draw(t, "commands") {
			commands = append(commands, drawCommand(t, i))
		}
		alone := newGrouping()
		for _, d := range commands {
			alone.commit(d)
			alone.lane.cache = newCache(cacheSize)
		}
		together := newGrouping()
		for rest := commands; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "group")
			together.commit(rest[:n]...)
			rest = rest[n:]
			if rapid.Bool().Draw(t, "forget") {
				together.lane.cache = newCache(cacheSize)
			}
		}
		if diff := cmp.Diff(alone.verdicts, together.verdicts); diff != "" {
			t.Fatalf("verdicts (-alone +together)\n%s", diff)
		}
		require.Equal(t, alone.heads(t), together.heads(t))
	})
}

func drawCommand(t *rapid.T, i int) testCommand {
	d := testCommand{declared: rapid.Bool().Draw(t, "declared"), dry: rapid.IntRange(0, 9).Draw(t, "dry") == 0}
	for j := range rapid.IntRange(1, 2).Draw(t, "parts") {
		account := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "account")
		source := fmt.Sprintf("an_%d", rapid.IntRange(0, 4).Draw(t, "source"))
		seconds := rapid.Int64Range(0, 30).Draw(t, "seconds")
		name := fmt.Sprintf("txn_%d_%d", i, j)
		d.parts = append(d.parts, part{account, rapid.SampledFrom([]credit.Command{
			credit.Grant{AccountID: account, TransactionID: name, Kind: credit.Purchase, Seconds: seconds},
			credit.Grant{AccountID: account, TransactionID: name, Kind: credit.Adjustment, Seconds: 10 - seconds},
			credit.Hold{AccountID: account, HoldID: name, Seconds: seconds, SourceType: credit.SourceAnalysis, SourceID: source},
			credit.Settle{SourceID: source, TransactionID: name, Seconds: seconds},
			credit.Release{SourceID: source},
		}).Draw(t, "command")})
	}
	return d
}

// grouping is a lane of a pipeline that the test runs step by step.
type grouping struct {
	pipeline *Pipeline
	lane     *lane
	verdicts []string
}

func newGrouping() *grouping {
	c := newClock()
	p := NewPipeline(memory.New(codec.Events(), c.Now), c.Now, slog.New(slog.DiscardHandler))
	return &grouping{pipeline: p, lane: p.lanes[0]}
}

// commit runs commands as one group.
func (g *grouping) commit(commands ...testCommand) {
	var group []*task
	for _, d := range commands {
		in := intent{accountID: d.parts[0].account, meta: eventstore.Meta{AccountID: d.parts[0].account}, dryRun: d.dry}
		if d.declared {
			for _, p := range d.parts {
				in.streams = append(in.streams, fold.Credit.Stream(p.account))
			}
		}
		group = append(group, &task{ctx: context.Background(), intent: in, decide: d.decide, done: make(chan error, 1)})
	}
	g.pipeline.run(g.lane, group)
	for _, t := range group {
		verdict := "ok"
		if err := <-t.done; err != nil {
			verdict = err.Error()
			if f := fault.Of(err); f != nil {
				verdict = f.Message
			}
		}
		g.verdicts = append(g.verdicts, verdict)
	}
}

func (d testCommand) decide(s *session) error {
	for _, p := range d.parts {
		if _, err := credits.record(s, p.account, p.command); err != nil {
			return err
		}
	}
	return nil
}

// heads returns the chains of the accounts. They depend on all events of their streams.
func (g *grouping) heads(t *rapid.T) map[eventstore.StreamID]eventstore.Chain {
	heads := map[eventstore.StreamID]eventstore.Chain{}
	histories, err := g.pipeline.store.Load(context.Background(), fold.Credit.Stream("a"), fold.Credit.Stream("b"))
	require.NoError(t, err)
	for id, h := range histories {
		heads[id] = h.Chain
	}
	return heads
}
