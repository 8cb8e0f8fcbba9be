package projections_test

import (
	"context"

	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/handlers/command"
)

// watch creates a live stream. Most are refused, because the account has one.
func (c *client) watch(ctx context.Context) error {
	caller, prompt := pick(c.rand, c.callers), "Is there a dog?"
	st, err := c.CreateStream(ctx, caller, command.CreateStream{Prompt: &prompt, Recording: c.rand.IntN(2) == 0, Narrative: c.rand.IntN(2) == 0})
	if err == nil {
		c.streams = append(c.streams, command.StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live"})
	}
	return err
}

// runStream takes a stream one step further, as its owner or its client.
func (c *client) runStream(ctx context.Context) error {
	if len(c.streams) == 0 {
		return nil
	}
	run := pick(c.rand, c.streams)
	switch c.rand.IntN(10) {
	case 0:
		_, err := c.GrantStream(ctx, run, "node", "")
		return err
	case 1:
		prompt := pick(c.rand, []string{"Is there a cat?", "How many cars are there?"})
		_, _, err := c.ChangeStream(ctx, run, stream.UpdatePrompt{Prompt: prompt, Query: english.Compile(prompt), ParseMode: stream.ParseHeuristic})
		return err
	case 2:
		for _, caller := range c.callers {
			if caller.AccountID == run.AccountID {
				_, err := c.EndStream(ctx, caller, run.StreamID)
				return err
			}
		}
		return nil
	}
	clock := c.rand.Int64N(100_000)
	_, _, err := c.ChangeStream(ctx, run, pick(c.rand, []stream.Command{
		stream.Offer{Node: "node", Via: "whip"}, stream.GoLive{Node: "node"}, stream.Resume{Node: "node"},
		stream.Pause{Node: "node", ClockMillis: clock}, stream.Meter{Node: "node", ClockMillis: clock, ResultFrames: 3},
		stream.RecordPart{Node: "node", Part: stream.Part{Number: 1, Key: "part", SizeBytes: 1, Frames: 1, DurationMillis: 1}},
		stream.End{Node: "node", ClockMillis: clock},
	}))
	return err
}
