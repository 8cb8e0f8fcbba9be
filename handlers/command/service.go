package command

import (
	"cmp"
	"context"
	"io"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/eventstore"
)

// Limits are the configured bounds that commands enforce.
type Limits struct {
	// MaxVideoDuration is the plan's longest video.
	MaxVideoDuration time.Duration
	// MaxConcurrentAnalyses bounds the unfinished live analyses of an account.
	MaxConcurrentAnalyses int
	// AnalysisQueueCap bounds the queued analyses of the whole service.
	AnalysisQueueCap int
	// QuotaSecondsPerMonth bounds what an account settles in a calendar month; 0 is no
	// quota.
	QuotaSecondsPerMonth int64
	// StoragePerAccount and StoragePerSandbox bound the bytes that an account keeps, the
	// second that of an account with only a test key; 0 is no quota.
	StoragePerAccount, StoragePerSandbox int64
	// SandboxPerIP bounds the sandboxes of one address in 24 hours.
	SandboxPerIP int
	// UpgradesPerAddress bounds the upgrades of one address in 24 hours, UpgradesPerDay
	// those of the whole service on one day in UTC.
	UpgradesPerAddress, UpgradesPerDay int
	// SignupGrantSeconds is what an upgrade grants; 0 is nothing.
	SignupGrantSeconds int64
}

// Uploads is what completing a video needs of the object store.
type Uploads interface {
	// Room refuses to store need more bytes where the disk is nearly full. Error:
	// capacity_exhausted.
	Room(need int64) error
	// Inspect probes the uploaded bytes of a video. The ticket names those very bytes, and
	// the file's ObjectKey is where Keep puts them. Errors: upload_incomplete,
	// video_unreadable, video_too_large, capacity_exhausted.
	Inspect(ctx context.Context, v video.State) (f video.File, ticket string, err error)
	// Keep copies the bytes of a ticket to key, out of the caller's reach. Keeping the same
	// bytes twice is harmless, and the upload stays. Errors: resource_conflict when the
	// upload was replaced since it was inspected.
	Keep(ctx context.Context, videoID, key, ticket string) error
	// Close ends the upload of a video: its bytes go, and later ones are refused.
	Close(ctx context.Context, videoID string) error
	// Discard removes what Keep kept. An absent object is no error.
	Discard(ctx context.Context, key string) error
}

// Capacity tells whether the service can take more work.
type Capacity interface {
	// InferenceReady returns nil when an engine answers, else inference_unavailable.
	InferenceReady(ctx context.Context) error
	// QueuedAnalyses counts the live analyses that wait for a worker.
	QueuedAnalyses(ctx context.Context) (int, error)
	// RoomIn returns in how many seconds so many of them, at least 1, no longer wait; known
	// is false when that cannot be told.
	RoomIn(ctx context.Context, places int) (seconds int, known bool)
}

// Fixture is the canned video of test mode.
type Fixture interface {
	File() video.File
	Filename() string
	// Answer is the deterministic result of a question about the fixture.
	Answer(q query.Query) answer.Result
	// Narrative tells what happens in the fixture.
	Narrative() []analysis.NarrativeEntry
}

// Dependencies are everything a Service is made of.
type Dependencies struct {
	Store    eventstore.Store
	Pipeline *Pipeline
	IDs      *id.Source
	Entropy  io.Reader
	Now      func() time.Time
	Catalog  model.Catalog
	Limits   Limits
	Uploads  Uploads
	Capacity Capacity
	Fixture  Fixture
	// Storage is nil where nothing is counted.
	Storage Storage
	// Compiler is nil where prompts are read by the rules alone.
	Compiler Compiler
	// Assessable reports which queries are answered; nil is [query.Assessable].
	Assessable func(query.Query) bool
	// Vocabulary is what the model behind the engine knows, none when it takes any term; ok is
	// false while nobody knows. nil leaves what the catalog says.
	Vocabulary func(ctx context.Context) (terms []string, ok bool)
	// Identities is nil where a sandbox is upgraded without proof of who asks.
	Identities Identities
	// Incidents is nil where no platform incident is ever open.
	Incidents Incidents
}

// Service carries out the use cases.
type Service struct{ Dependencies }

// NewService returns a service on its dependencies, all of which are required but those
// that say so.
func NewService(d Dependencies) *Service { return &Service{d} }

// Caller is who asks, as authentication found out.
type Caller struct {
	AccountID string
	// KeyID is the API key that was shown, or the one that minted the client token that
	// was shown. It is empty for a person with a session, and for a caller who shows
	// nothing.
	KeyID string
	// TokenID is the client token that was shown, or empty.
	TokenID  string
	Livemode bool
	Tier     account.Tier
	// Scopes bound what the caller may do; nil is every scope.
	Scopes []string
	// VideoID and StreamID are the one resource that a client token is bound to; at most
	// one is set.
	VideoID, StreamID string
	RequestID         string
	// Idempotency is nil when the request carried no Idempotency-Key.
	Idempotency *Idempotency
}

// Idempotency identifies a request that may be sent twice.
type Idempotency struct {
	// Owner is whose keys are told apart; empty is the caller's account. A caller who shows no
	// credential is known by its address.
	Owner string
	// Key is the caller's own, together with what else tells requests of one owner apart.
	Key string
	// Hash is the SHA-256 of method, path and body.
	Hash [32]byte
}

// meta is the metadata of events that a caller's request leads to.
func (c Caller) meta() eventstore.Meta {
	return eventstore.Meta{
		AccountID: c.AccountID, RequestID: c.RequestID, CorrelationID: c.RequestID, CausationID: c.RequestID, Actor: c.actor(),
	}
}

// actor is how the log names the caller: a person is known by the account alone.
func (c Caller) actor() string { return cmp.Or(c.TokenID, c.KeyID, "session") }

// intent prepares the pipeline for a caller's request.
func (c Caller) intent(streams ...eventstore.StreamID) intent {
	return intent{accountID: c.AccountID, meta: c.meta(), streams: streams, receipt: c.receipt()}
}

// receipt makes a request of the caller idempotent; nil without an Idempotency-Key.
func (c Caller) receipt() *eventstore.Receipt {
	if c.Idempotency == nil {
		return nil
	}
	return &eventstore.Receipt{AccountID: c.IdempotencyOwner(), Key: c.Idempotency.Key, RequestHash: c.Idempotency.Hash}
}

// IdempotencyOwner is whom the caller's Idempotency-Key belongs to.
func (c Caller) IdempotencyOwner() string { return cmp.Or(c.Idempotency.Owner, c.AccountID) }

// created names in the receipt what a request made.
func (in intent) created(resourceID string) {
	if in.receipt != nil {
		in.receipt.ResourceID = resourceID
	}
}

// Replay looks for an earlier request with the caller's Idempotency-Key. It returns
// nil when this is the first. Errors: idempotency_key_reused when the earlier request
// was a different one.
func (s *Service) Replay(ctx context.Context, caller Caller) (*eventstore.Receipt, error) {
	if caller.Idempotency == nil {
		return nil, nil
	}
	r, found, err := s.Store.Receipt(ctx, caller.IdempotencyOwner(), caller.Idempotency.Key, s.Now())
	if err != nil || !found {
		return nil, err
	}
	if r.RequestHash != caller.Idempotency.Hash {
		return nil, fault.New(fault.IdempotencyKeyReused, "")
	}
	return &r, nil
}

// SaveResponse keeps the response of an idempotent request for replays.
func (s *Service) SaveResponse(ctx context.Context, caller Caller, status int, body []byte) error {
	if caller.Idempotency == nil {
		return nil
	}
	return s.Store.SaveResponse(ctx, caller.IdempotencyOwner(), caller.Idempotency.Key, status, body)
}

// asExhausted gives an empty balance the code of the account's tier
// (open-points.md, "Credits": grant_exhausted answers keys of tier free_grant).
func asExhausted(err error, tier account.Tier) error {
	f := fault.Of(err)
	if f == nil || f.Code != fault.InsufficientCredits || tier != account.FreeGrant {
		return err
	}
	exhausted := *f
	exhausted.Code = fault.GrantExhausted
	return &exhausted
}

// ignoreStale drops the refusal that a report met because its analysis or video
// moved on without it.
func ignoreStale(err error) error {
	if IsStale(err) {
		return nil
	}
	return err
}

// IsStale reports whether a worker's command was refused because the work is no
// longer its own: canceled, finished, or taken over by a later attempt.
func IsStale(err error) bool {
	return fault.Has(err, fault.ResourceConflict) || fault.Has(err, fault.ResourceNotFound)
}
