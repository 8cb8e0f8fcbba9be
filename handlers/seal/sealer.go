package seal

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
)

// Events reads the log of events. *postgres.Store implements it.
type Events interface {
	Settled(ctx context.Context) (int64, error)
	Raws(ctx context.Context, category string, after, upTo int64, limit int) ([]postgres.Raw, error)
	Places(ctx context.Context, wanted []postgres.Place) ([]postgres.Place, error)
	Load(ctx context.Context, streams ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error)
	// Appended returns what this process has appended since the last call.
	Appended() []postgres.Place
	CheckTables(ctx context.Context) error
}

// Commands appends the events of the sealer. *command.Service implements it.
type Commands interface {
	LedgerLog(ctx context.Context) (credit.LogState, error)
	SealLog(ctx context.Context, sealed credit.LogSealed) (eventstore.Recorded, error)
	AddLedgerKey(ctx context.Context, key ed25519.PublicKey) error
}

const (
	// sealEvery is the interval of the passes, and sealAfter the number of events that starts one earlier.
	sealEvery = time.Minute
	sealAfter = 1000
	// lookEvery is the interval at which the number of new events is compared with sealAfter.
	lookEvery = 5 * time.Second
	// passTimeout bounds a pass. The first one reads the whole log.
	passTimeout = 2 * time.Hour
	// stoppedFor is the pause after a finding.
	stoppedFor = 10 * time.Minute
	// auditEvery is the interval of the full audit, and firstAudit the time from the start to the first one, so that
	// a service that is restarted every day is audited, too.
	auditEvery = 24 * time.Hour
	firstAudit = time.Hour
	// reportedFor is how long the finding of a reader raises the alarm.
	reportedFor = 24 * time.Hour
	// mostUnsealed is the time without a successful pass that raises an alarm.
	mostUnsealed = 5 * time.Minute
	// mostPass is the time that a pass or an audit may take before an alarm: a slow answer must not delay the
	// seals unseen. The audit of 60 million events takes as long.
	mostPass = 15 * time.Minute
)

// Options are the parts of a Sealer.
type Options struct {
	Events   Events
	Commands Commands
	Codec    *codec.Codec
	// Anchors has the checkpoints. Tiles has tiles and records; it may be the same place.
	Anchors Anchors
	Tiles   Files
	// Key signs. Origin is that of the first log, for the first start.
	Key    ed25519.PrivateKey
	Origin string
	// Witnesses are asked to cosign each checkpoint after it was anchored. Anchors.Witnesses must have their keys.
	// Quorum is how many of them must have cosigned the newest checkpoint before the next one is signed.
	Witnesses []Witness
	Quorum    int
	// Audit is the part of the daily audit that reads the whole database. It returns a problem, or "".
	Audit func(ctx context.Context) (string, error)
	Now   func() time.Time
	// Machine is the clock of this machine, for the alarms: the owner of the database sets Now. Default: Now.
	Machine func() time.Time
	Log     *slog.Logger
}

// Sealer keeps the transparency log.
type Sealer struct {
	Options

	// pass is held during a pass and an audit. It guards state.
	pass  sync.Mutex
	state *state
	// own are the events that this node appended to the log ownLog and that no pass has met, by position. pass
	// guards them, too.
	own    map[int64]owned
	ownLog int64
	// unsound is true from an audit with a finding to the next one without. pass guards it, too.
	unsound bool
	// versions is what the tree has of each stream. It is nil before the first audit. pass guards it, too.
	versions *versions

	mu      sync.Mutex
	head    Head
	finding *Finding
	// reported is what a reader of the log met last, at reportedAt.
	reported   *Finding
	reportedAt time.Time
	// lookedAt is the time of the last look for a log that no pass has seen.
	lookedAt time.Time
	// lastGood is the end of the last pass without an error, and lastError the error since then.
	lastGood  time.Time
	lastError error
	// asked has the outcome of the last request to each witness about askedLog, by its name.
	asked    map[string]asked
	askedLog int64
}

// New returns a sealer.
func New(opt Options) *Sealer {
	if opt.Machine == nil {
		opt.Machine = opt.Now
	}
	s := &Sealer{Options: opt, lastGood: opt.Machine()}
	if opt.Key != nil {
		s.Anchors.Own = s.PublicKey()
	}
	return s
}

// PublicKey verifies the checkpoints of this sealer.
func (s *Sealer) PublicKey() ed25519.PublicKey { return s.Key.Public().(ed25519.PublicKey) }

// Newest returns the newest anchored checkpoint that this node has seen. Signed is nil before the first.
func (s *Sealer) Newest() Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// NewestCheckpoint returns the newest signed checkpoint that this node has seen, or nil.
func (s *Sealer) NewestCheckpoint() []byte { return s.Newest().Signed }

// ReadCheckpoint returns the signed checkpoint of a log with a size, with its cosignatures, or nil when there is
// none. Error: *Finding for a file that is not this checkpoint, which raises the alarm.
func (s *Sealer) ReadCheckpoint(ctx context.Context, log, size int64) ([]byte, error) {
	signed, err := s.readCheckpoint(ctx, log, size)
	s.Report(ctx, err)
	return signed, err
}

func (s *Sealer) readCheckpoint(ctx context.Context, log, size int64) ([]byte, error) {
	known := s.Newest()
	if known.Opening.Number >= log {
		signed, err := s.readWith(ctx, known, log, size)
		if !errors.As(err, new(*Finding)) {
			return signed, err
		}
	}
	// This node has made no pass since the log began, or since another node seals with a new key.
	if known.Opening.Number < log && !s.mayLook() {
		return nil, nil
	}
	newest, err := s.anchored(ctx, known)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.head.Opening.Number < newest.Opening.Number {
		s.head = newest
	}
	s.mu.Unlock()
	return s.readWith(ctx, newest, log, size)
}

// mayLook limits the looks for a log that this node does not know. Anybody can ask for one.
func (s *Sealer) mayLook() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Machine()
	if since := now.Sub(s.lookedAt); since >= 0 && since < lookEvery {
		return false
	}
	s.lookedAt = now
	return true
}

// readWith reads a checkpoint with the keys and openings of a head.
func (s *Sealer) readWith(ctx context.Context, newest Head, log, size int64) (_ []byte, err error) {
	// The name of an opening is its number, so the numbers are not always the indexes.
	i := slices.IndexFunc(newest.Openings, func(o translog.Opening) bool { return o.Number == log })
	if i < 0 || size < 1 {
		return nil, nil
	}
	h := Head{Keys: newest.Keys, Opening: newest.Openings[i]}
	if h.Signed, h.Checkpoint, err = s.Anchors.signedOnce(ctx, h.Keys, h.Opening, size); missing(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h, err = s.Anchors.addCosignatures(ctx, h)
	return h.Signed, err
}

// Report raises the alarm for a *Finding that a reader of the log met, for a day, and ignores other errors. A pass may
// not see what the reader saw, so it neither ends the alarm nor stops.
func (s *Sealer) Report(ctx context.Context, err error) {
	var found *Finding
	if !errors.As(err, &found) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported, s.reportedAt = s.keep(ctx, s.reported, found), s.Machine()
}

// Found returns the finding of the last pass or audit, or one that was reported within a day, or nil.
func (s *Sealer) Found() *Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finding == nil && s.reported != nil && s.Machine().Sub(s.reportedAt) < reportedFor {
		return s.reported
	}
	return s.finding
}

// stopped reports whether a pass or an audit had a finding.
func (s *Sealer) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finding != nil
}

// ErrSlow says that no pass has ended for 15 minutes.
var ErrSlow = errors.New("no pass has ended for 15 minutes: the database or the place of the checkpoints answers slowly, or the audit of a large log takes long")

// Unsealed returns the last error when no pass has succeeded for five minutes, ErrSlow when none has ended for 15, else
// nil.
func (s *Sealer) Unsealed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch waited := s.Machine().Sub(s.lastGood); {
	case s.lastError != nil && waited >= mostUnsealed:
		return s.lastError
	case waited >= mostPass:
		return ErrSlow
	}
	return nil
}

// Run seals at once, then every minute or after 1,000 events, until ctx ends. It audits an hour after its start, and
// then once a day.
func (s *Sealer) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var sealedAt time.Time
	auditedAt := time.Now().Add(firstAudit - auditEvery)
	for {
		pause := sealEvery
		if s.stopped() {
			pause = stoppedFor
		}
		switch {
		case time.Since(sealedAt) >= pause, !s.stopped() && s.crowded(ctx):
			if _, err := s.Pass(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrRival) {
				s.Log.ErrorContext(ctx, "sealing the ledger failed", "error", err)
			}
			sealedAt = time.Now()
		case time.Since(auditedAt) >= auditEvery:
			if err := s.FullAudit(ctx); err != nil && ctx.Err() == nil {
				s.Log.ErrorContext(ctx, "the daily audit failed", "error", err)
			}
			auditedAt = time.Now()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// crowded reports whether many events are not sealed.
func (s *Sealer) crowded(ctx context.Context) bool {
	s.pass.Lock()
	position, known := int64(0), s.state != nil
	if known {
		position = s.state.position
	}
	s.pass.Unlock()
	settled, err := s.Events.Settled(ctx)
	return err == nil && known && settled-position >= sealAfter
}

// Pass makes one pass and reports whether it anchored a checkpoint. After an audit with a finding it audits first, because
// a pass does not look at all rows. Errors: *Finding, ErrNotApproved, ErrRival, ErrUnwitnessed, ErrUnsettled, or a store
// cannot be reached.
func (s *Sealer) Pass(ctx context.Context) (sealed bool, err error) {
	s.pass.Lock()
	defer s.pass.Unlock()
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	if s.unsound {
		err = s.audit(ctx)
	}
	if err == nil {
		s.unsound = false
		sealed, err = s.once(ctx)
	}
	s.note(ctx, err)
	return sealed, err
}

// FullAudit compares every event with the tree, and then the rest of the database. Error: *Finding.
func (s *Sealer) FullAudit(ctx context.Context) error {
	s.pass.Lock()
	defer s.pass.Unlock()
	err := s.audit(ctx)
	if found := (*Finding)(nil); errors.As(err, &found) {
		s.unsound = true
		s.note(ctx, err)
	}
	return err
}

// note keeps the outcome of a pass for the alarms.
func (s *Sealer) note(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, ErrRival) && !errors.Is(err, ErrUnwitnessed) && !errors.Is(err, ErrUnsettled) {
		s.state = nil // it may be ahead of the anchored tree
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *Finding
	switch {
	case err == nil:
		s.lastGood, s.lastError, s.finding = s.Machine(), nil, nil
		return
	case errors.As(err, &found):
		s.finding = s.keep(ctx, s.finding, found)
	}
	s.lastError = err
}

// keep logs a finding that differs from the last one, and returns it.
func (s *Sealer) keep(ctx context.Context, last, found *Finding) *Finding {
	if last == nil || *last != *found {
		s.Log.ErrorContext(ctx, "the database or the anchors contradict the log", "finding", found.Error())
	}
	return found
}
