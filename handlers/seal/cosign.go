package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"vqa/eventstore/translog"
	"vqa/handlers/anchor"
	"vqa/handlers/witness"
)

// Witness cosigns checkpoints. *witness.Client implements it.
type Witness interface {
	Key() translog.Witness
	Add(ctx context.Context, oldSize int64, proof []translog.Hash, signed []byte) (line []byte, err error)
}

// ErrUnwitnessed says that fewer witnesses than the quorum have cosigned the newest checkpoint.
var ErrUnwitnessed = errors.New("too few witnesses have cosigned the newest checkpoint")

// witnessPause is the least time between a failed request to a witness and the next one.
const witnessPause = 50 * time.Second

// Cosigned is the time at which a witness cosigned a checkpoint.
type Cosigned struct {
	Witness string
	At      time.Time
}

// asked is what the sealer knows of a witness.
type asked struct {
	// size is the tree that the witness knows, 0 when unknown.
	size int64
	// err is the last failure, tried its time, and since the time of the first one. They are empty after a
	// cosignature.
	err          error
	tried, since time.Time
}

// cosignatureName returns the name of a witness's cosignature on a checkpoint.
func cosignatureName(log, size int64, w translog.Witness) string {
	return fmt.Sprintf("%s/%020d/%s", logName(cosignaturesFolder, log), size, w.ID())
}

// addCosignatures adds the kept cosignatures of the configured witnesses that a head lacks. A file that is
// not a cosignature is ignored.
func (a Anchors) addCosignatures(ctx context.Context, h Head) (Head, error) {
	if h.Signed == nil {
		return h, nil
	}
	for _, w := range a.Witnesses {
		if h.cosignedBy(w) {
			continue
		}
		line, err := a.Files.Read(ctx, cosignatureName(h.Opening.Number, h.Checkpoint.Size, w))
		if missing(err) {
			continue
		}
		if err != nil {
			return h, err
		}
		if line, at, err := w.Cosignature(h.Signed, line); err == nil {
			h = h.withCosignature(w, line, at)
		}
	}
	return h, nil
}

func (h Head) cosignedBy(w translog.Witness) bool {
	return slices.ContainsFunc(h.Cosigned, func(c Cosigned) bool { return c.Witness == w.Name })
}

func (h Head) withCosignature(w translog.Witness, line []byte, at time.Time) Head {
	h.Signed = append(bytes.Clone(h.Signed), line...)
	h.Cosigned = append(slices.Clone(h.Cosigned), Cosigned{w.Name, at})
	return h
}

// answer is the outcome of a request to a witness.
type answer struct {
	of Witness
	// size is the tree that the witness is assumed to know, and afterwards the one that it knows.
	size int64
	line []byte
	at   time.Time
	err  error
}

// askAll asks witnesses about a checkpoint, all at the same time.
func (s *Sealer) askAll(ctx context.Context, h Head, answers []answer) {
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() {
			a := &answers[i]
			if a.line, a.size, a.err = s.ask(ctx, h, a.of, a.size); a.err == nil {
				a.line, a.at, a.err = a.of.Key().Cosignature(h.Signed, a.line)
			}
		})
	}
	asking.Wait()
}

// WitnessState is what a witness says about the newest checkpoint.
type WitnessState struct {
	Name string
	// At is the time of its cosignature, or Err says why there is none.
	At  time.Time
	Err error
}

// AskWitnesses asks every witness about the newest anchored checkpoint, also those that have cosigned it. It keeps
// no cosignature. There are no states before the first checkpoint. A *Finding in a state means that the log does
// not extend the tree that the witness knows.
func (s *Sealer) AskWitnesses(ctx context.Context) (Head, []WitnessState, error) {
	h, err := s.Anchors.Head(ctx, Head{})
	if err != nil || h.Signed == nil {
		return h, nil, err
	}
	answers := make([]answer, len(s.Witnesses))
	for i, w := range s.Witnesses {
		answers[i] = answer{of: w, size: h.Checkpoint.Size}
	}
	s.askAll(ctx, h, answers)
	states := make([]WitnessState, len(answers))
	for i, a := range answers {
		states[i] = WitnessState{a.of.Key().Name, a.at, a.err}
		if errors.Is(a.err, ErrRival) {
			states[i].Err = nil // it has just cosigned a newer one
		}
	}
	return h, states, nil
}

// cosign asks the witnesses that have not cosigned the newest checkpoint, all at the same time, and keeps their
// cosignatures. A witness that fails is asked again by a later pass. The caller holds s.pass. Error: *Finding
// when a witness has cosigned a tree that this log does not extend.
func (s *Sealer) cosign(ctx context.Context, h Head) (Head, error) {
	if h.Signed == nil {
		return h, nil
	}
	var answers []answer
	for _, w := range s.Witnesses {
		if size, due := s.due(h, w.Key()); due {
			answers = append(answers, answer{of: w, size: size})
		}
	}
	s.askAll(ctx, h, answers)
	var finding *Finding
	for _, a := range answers {
		if errors.Is(a.err, ErrRival) {
			continue // the other node asks for its newer checkpoint
		}
		line, at, err := a.line, a.at, a.err
		if err == nil {
			name := cosignatureName(h.Opening.Number, h.Checkpoint.Size, a.of.Key())
			if err = s.Anchors.Files.Create(ctx, name, line); errors.Is(err, anchor.ErrExists) {
				err = nil // that of another node is as good
			}
		}
		if err == nil {
			h = h.withCosignature(a.of.Key(), line, at)
		}
		errors.As(err, &finding)
		s.answered(ctx, a.of.Key().Name, a.size, err)
	}
	s.mu.Lock()
	s.head = h
	s.mu.Unlock()
	if finding != nil {
		return h, finding
	}
	return h, nil
}

// due reports whether a witness must be asked now, and returns the size that it is assumed to know.
func (s *Sealer) due(h Head, w translog.Witness) (size int64, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.askedLog != h.Opening.Number {
		s.asked, s.askedLog = map[string]asked{}, h.Opening.Number // another log has another origin
	}
	if h.cosignedBy(w) {
		s.asked[w.Name] = asked{size: h.Checkpoint.Size}
		return 0, false
	}
	a := s.asked[w.Name]
	waits := a.err != nil && !errors.As(a.err, new(*Finding)) && s.Now().Sub(a.tried) < witnessPause
	return a.size, !waits
}

// answered notes the outcome of a request to a witness.
func (s *Sealer) answered(ctx context.Context, name string, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.asked[name]
	now := asked{size: size, err: err}
	if err != nil {
		if now.tried, now.since = s.Now(), before.since; before.err == nil {
			now.since = s.Now()
			s.Log.WarnContext(ctx, "a witness did not cosign the checkpoint of the ledger", "witness", name, "error", err)
		}
	}
	s.asked[name] = now
}

// mostAsks bounds the requests for one cosignature. Another node may move the witness ahead in between.
const mostAsks = 4

// ask asks a witness, beginning with the size that it is assumed to know, and returns its cosignature and the
// size that it knows. Error: *Finding when the log does not extend what it knows.
func (s *Sealer) ask(ctx context.Context, h Head, w Witness, known int64) (line []byte, size int64, err error) {
	name, tree := w.Key().Name, h.Checkpoint.Tree
	for range mostAsks {
		if known > tree.Size {
			return nil, 0, s.ahead(ctx, h, name, known)
		}
		proof, err := translog.ProveConsistency(tree, Tree{s.Tiles, h.Opening.Number}.Read(ctx), known)
		if err != nil {
			return nil, known, err
		}
		line, err := w.Add(ctx, known, proof, h.Signed)
		var conflict *witness.ConflictError
		switch forked := fmt.Sprintf("the log was forked: witness %s has cosigned another tree of %d leaves", name, known); {
		case errors.Is(err, witness.ErrInconsistent) && known > 0:
			return nil, known, &Finding{Problem: forked}
		case !errors.As(err, &conflict):
			return line, tree.Size, err
		case conflict.Size == known && known == tree.Size:
			return nil, known, &Finding{Problem: forked}
		}
		known = conflict.Size
	}
	return nil, known, fmt.Errorf("witness %s names another size after each request", name)
}

// ahead explains that a witness knows a larger tree: another node has anchored it, or the log was shortened.
func (s *Sealer) ahead(ctx context.Context, h Head, name string, known int64) error {
	newest, err := s.Anchors.Head(ctx, h)
	if err != nil {
		return err
	}
	if newest.Opening.Number > h.Opening.Number || newest.Checkpoint.Size >= known {
		return ErrRival
	}
	return &Finding{Problem: fmt.Sprintf("the log was shortened: witness %s has cosigned a tree of %d leaves, and the newest anchored checkpoint has %d",
		name, known, newest.Checkpoint.Size)}
}

// checkQuorum returns ErrUnwitnessed when too few witnesses have cosigned the newest checkpoint.
func (s *Sealer) checkQuorum(h Head) error {
	if n := len(h.Cosigned); h.Signed != nil && n < s.Quorum {
		return fmt.Errorf("%w: %d of %d, and %d must (VQA_LEDGER_WITNESS_QUORUM)", ErrUnwitnessed, n, len(s.Witnesses), s.Quorum)
	}
	return nil
}

// Unwitnessed returns an error when a witness has not cosigned for five minutes, else nil. It names each such
// witness.
func (s *Sealer) Unwitnessed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	for name, a := range s.asked {
		if a.err != nil && s.Now().Sub(a.since) >= mostUnsealed {
			missing = append(missing, name+": "+a.err.Error())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("%d of %d witnesses do not cosign: %s", len(missing), len(s.Witnesses), strings.Join(missing, "; "))
}
