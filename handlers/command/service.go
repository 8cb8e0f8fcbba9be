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

// Limits are the configured limits that commands enforce.
type Limits struct {
	// MaxVideoDuration is the plan's longest video.
	MaxVideoDuration time.Duration
	// MaxConcurrentAnalyses bounds the unfinished live analyses of an account.
	MaxConcurrentAnalyses int
	// AnalysisQueueCap bounds the queued analyses of the whole service.
	AnalysisQueueCap int
	// StreamQueueCap bounds the streams of the whole service that wait for a slot.
	StreamQueueCap int
	// StreamMaxSessionSeconds is the longest time from going live to the end, >= 1, and
	// StreamWarnAtSeconds the remaining time at which the client is warned, >= 1.
	StreamMaxSessionSeconds, StreamWarnAtSeconds int64
	// QuotaSecondsPerMonth bounds the seconds that an account is billed in a calendar month.
	// 0 means no quota.
	QuotaSecondsPerMonth int64
	// StoragePerAccount bounds the bytes that an account stores. StoragePerSandbox is the
	// limit of an account with only a test key. 0 means no quota.
	StoragePerAccount, StoragePerSandbox int64
	// SandboxPerIP bounds the sandboxes of one address in 24 hours.
	SandboxPerIP int
	// UpgradesPerAddress bounds the upgrades of one address in 24 hours. UpgradesPerDay
	// bounds the upgrades of the whole service on one day in UTC.
	UpgradesPerAddress, UpgradesPerDay int
	// SignupGrantSeconds is the grant of an upgrade, in seconds. It may be 0.
	SignupGrantSeconds int64
}

// Uploads is the part of the object store that completing a video needs.
type Uploads interface {
	// Room returns capacity_exhausted when storing need more bytes would nearly fill the disk.
	Room(need int64) error
	// Inspect probes the uploaded bytes of a video. The ticket identifies exactly these
	// bytes. The caller passes it to Keep with the file's ObjectKey. Errors:
	// upload_incomplete, video_unreadable, video_too_large, capacity_exhausted.
	Inspect(ctx context.Context, v video.State) (f video.File, ticket string, err error)
	// Keep copies the bytes of a ticket to key, where the uploader cannot change them. The
	// upload stays. Keep is idempotent. Error: resource_conflict when the upload was replaced
	// after Inspect.
	Keep(ctx context.Context, videoID, key, ticket string) error
	// Close ends the upload of a video: it deletes the uploaded bytes and refuses later ones.
	Close(ctx context.Context, videoID string) error
	// Discard deletes the object that Keep stored. A missing object is not an error.
	Discard(ctx context.Context, key string) error
	// Remove deletes all objects of a deleted video and closes its upload. key is that of its bytes, or empty.
	Remove(ctx context.Context, videoID, key string) error
	// RemoveRecording deletes all objects of the recording of a stream.
	RemoveRecording(ctx context.Context, streamID string) error
}

// Capacity reports whether the service can accept more work.
type Capacity interface {
	// InferenceReady returns nil when an engine is ready, else inference_unavailable.
	InferenceReady(ctx context.Context) error
	// QueuedAnalyses counts the live-mode analyses that wait for a worker.
	QueuedAnalyses(ctx context.Context) (int, error)
	// RoomIn estimates the seconds until so many queued analyses, at least 1, have started.
	// known is false when there is no estimate.
	RoomIn(ctx context.Context, places int) (seconds int, known bool)
}

// Fixture is the canned video of test mode.
type Fixture interface {
	File() video.File
	Filename() string
	// Answer returns the deterministic result of a query about the fixture.
	Answer(q query.Query) answer.Result
	// Narrative returns the narrative of the fixture.
	Narrative() []analysis.NarrativeEntry
}

// Dependencies are the parts of a Service.
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
	Streams  Streams
	// Storage counts stored bytes. It is nil when there is no storage quota.
	Storage Storage
	// Compiler compiles prompts with a language model. It is nil when only the rules compile
	// them.
	Compiler Compiler
	// Assessable reports which queries the service answers. nil means [answer.Assessable].
	Assessable func(query.Query) bool
	// Vocabulary returns the terms that the model of the engine knows. The list is empty when
	// the model accepts any term. ok is false while the terms are not known. nil means that
	// the catalog's vocabulary counts.
	Vocabulary func(ctx context.Context) (terms []string, ok bool)
	// Identities verifies who upgrades a sandbox. nil means that no proof is needed.
	Identities Identities
	// Sealer encrypts the secrets of webhook endpoints. It is nil where none are created.
	Sealer Sealer
	// Incidents finds open platform incidents. nil means that there are none.
	Incidents Incidents
}

// Service carries out the use cases.
type Service struct{ Dependencies }

// NewService returns a service on its dependencies. A dependency is required unless its
// comment says that it may be nil.
func NewService(d Dependencies) *Service { return &Service{d} }

// Caller is the authenticated sender of a request.
type Caller struct {
	AccountID string
	// KeyID is the API key of the request, or the key that created its client token. It is
	// empty for a person with a session and for an anonymous caller.
	KeyID string
	// TokenID is the client token of the request, or empty.
	TokenID string
	// SessionID is the session of this service that a person signed in with, or empty.
	SessionID string
	Livemode  bool
	Tier      account.Tier
	// Scopes are the scopes of the credential. nil means every scope.
	Scopes []string
	// VideoID or StreamID is the resource that a client token is bound to. At most one is
	// set.
	VideoID, StreamID string
	// GrantID is the grant of an agent that a person authorized, or empty. GrantLimitSeconds is the most
	// credit-seconds that the agent may spend. 0 means no limit.
	GrantID           string
	GrantLimitSeconds int64
	RequestID         string
	// Idempotency is nil when the request carried no Idempotency-Key.
	Idempotency *Idempotency
}

// Idempotency identifies a request that may be sent twice.
type Idempotency struct {
	// Owner is the namespace of the keys. Empty means the caller's account. For an anonymous
	// caller it is derived from the address.
	Owner string
	// Key is the Idempotency-Key of the request, with a prefix where one owner has several
	// namespaces.
	Key string
	// Hash is the SHA-256 of method, path and body.
	Hash [32]byte
}

// meta returns the metadata of the events of a caller's request.
func (c Caller) meta() eventstore.Meta {
	return eventstore.Meta{
		AccountID: c.AccountID, RequestID: c.RequestID, CorrelationID: c.RequestID, CausationID: c.RequestID, Actor: c.actor(),
	}
}

// actor returns the caller's name in the log. A person with a session of another issuer is named "session",
// because the account already identifies the person.
func (c Caller) actor() string {
	return cmp.Or(c.TokenID, c.KeyID, c.GrantID, c.SessionID, "session")
}

// intent prepares the pipeline for a caller's request.
func (c Caller) intent(streams ...eventstore.StreamID) intent {
	return intent{accountID: c.AccountID, meta: c.meta(), streams: streams, receipt: c.receipt(), test: !c.Livemode}
}

// receipt returns the receipt of the caller's request, or nil without an Idempotency-Key.
func (c Caller) receipt() *eventstore.Receipt {
	if c.Idempotency == nil {
		return nil
	}
	return &eventstore.Receipt{AccountID: c.IdempotencyOwner(), Key: c.Idempotency.Key, RequestHash: c.Idempotency.Hash}
}

// IdempotencyOwner returns the namespace of the caller's Idempotency-Key.
func (c Caller) IdempotencyOwner() string { return cmp.Or(c.Idempotency.Owner, c.AccountID) }

// created records in the receipt which resource the request creates.
func (in intent) created(resourceID string) {
	if in.receipt != nil {
		in.receipt.ResourceID = resourceID
	}
}

// Replay looks for an earlier request with the caller's Idempotency-Key. It returns nil when
// this request is the first. Error: idempotency_key_reused when the earlier request was
// different.
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

// SaveResponse stores the response of an idempotent request for replays.
func (s *Service) SaveResponse(ctx context.Context, caller Caller, status int, body []byte) error {
	if caller.Idempotency == nil {
		return nil
	}
	return s.Store.SaveResponse(ctx, caller.IdempotencyOwner(), caller.Idempotency.Key, status, body)
}

// asExhausted replaces insufficient_credits by grant_exhausted for keys of tier free_grant
// (docs/contract.md#credit-refusals).
func asExhausted(err error, tier account.Tier) error {
	f := fault.Of(err)
	if f == nil || f.Code != fault.InsufficientCredits || tier != account.FreeGrant {
		return err
	}
	exhausted := *f
	exhausted.Code = fault.GrantExhausted
	return &exhausted
}

// ignoreStale returns nil for a refusal that IsStale recognizes.
func ignoreStale(err error) error {
	if IsStale(err) {
		return nil
	}
	return err
}

// IsStale reports whether a worker's command was refused because the work no longer belongs
// to this attempt: it was canceled, finished, or claimed by a later attempt.
func IsStale(err error) bool {
	return fault.Has(err, fault.ResourceConflict) || fault.Has(err, fault.ResourceNotFound)
}
