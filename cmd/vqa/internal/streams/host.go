package streams

import (
	"context"
	"fmt"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/stream"
	"vqa/eventstore"
	"vqa/gpu"
	"vqa/handlers/intake/ffmpeg"
	"vqa/streaming/assemble"
	"vqa/streaming/live"
)

// host returns the options for the sessions of a term.
func (n *Node) host(t *term) live.Options {
	return live.Options{
		Peers: live.WebRTC(n.Media), FFmpeg: n.FFmpeg, Colors: colors, Engine: engine{n.Engine}, Log: journal{n, t},
		Calibrations: n.Calibrations, Compile: n.Commands.CompileStreamPrompt, Canned: n.canned, Record: n.Recordings.Open, Relay: n.relayOf, Windows: n.Windows, Grace: n.Grace, PublicURL: n.PublicURL,
		Timed: n.Timed, Media: n.Counted, Logger: n.Log, Now: n.Now,
	}
}

// colors returns the filters for the colors of a stream.
func colors(l assemble.Light) []string { return ffmpeg.Light(l).Filters() }

// journal records the commands of the sessions under the lease of their term.
type journal struct {
	node *Node
	term *term
}

// Record implements live.Log.
func (j journal) Record(ctx context.Context, streamID string, c stream.Command) (stream.State, live.Funds, error) {
	j.term.mu.Lock()
	run, known := j.term.runs[streamID]
	j.term.mu.Unlock()
	if !known {
		return stream.State{}, live.Funds{}, fmt.Errorf("stream %s is not run by this node", streamID)
	}
	ctx, cancel := eventstore.WithLease(ctx, j.term.lease)
	defer cancel()
	st, f, err := j.node.Commands.ChangeStream(ctx, run, c)
	return st, live.Funds{Balance: f.Posted, Available: f.Available}, err
}

// cannedBox is where test mode finds what it answers yes to.
var cannedBox = [4]float64{0.25, 0.25, 0.5, 0.5}

// canned returns the result of test mode.
func (n *Node) canned(q query.Query) stream.Result {
	r := n.Commands.Fixture.Answer(q)
	out := stream.Result{
		Answer: r.Answer, Confidence: r.Confidence, DetectedCount: r.DetectedCount,
		IndeterminateReason: r.IndeterminateReason, UnsupportedAction: r.UnsupportedAction,
	}
	if r.Answer == answer.Yes && len(q.SearchTerms) > 0 {
		out.Detections = []stream.Detection{{Term: q.SearchTerms[0], Confidence: r.Confidence, Box: cannedBox}}
	}
	if lines := n.Commands.Fixture.Narrative(); len(lines) > 0 {
		out.NarrativeUpdate = &stream.NarrativeUpdate{Text: lines[0].Text}
	}
	return out
}

// engine lets a session ask about one sample.
type engine struct{ gpu.Engine }

// Info implements live.Engine.
func (e engine) Info(ctx context.Context) (live.Info, error) {
	i, err := e.Engine.Info(ctx)
	return live.Info{Weights: i.Weights, Vocabulary: i.Vocabulary, Colors: i.Colors, Shades: i.Shades}, err
}

// Detect implements live.Engine.
func (e engine) Detect(ctx context.Context, r live.Request) (live.Response, error) {
	got, err := e.Engine.Detect(ctx, gpu.Request{
		Frames: [][]byte{r.JPEG}, Terms: r.Terms, WantPose: r.WantPose, WantColors: r.WantColors, WantShades: r.WantShades,
	})
	if err != nil {
		return live.Response{}, err
	}
	out := live.Response{Known: got.Known}
	if len(got.Frames) > 0 {
		out.Detections = got.Frames[0]
	}
	if len(got.Shades) > 0 {
		out.Shades = got.Shades[0]
	}
	return out, nil
}
