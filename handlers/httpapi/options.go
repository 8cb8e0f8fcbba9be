package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/shopspring/decimal"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/signin"
	"vqa/handlers/objects"
	"vqa/handlers/wire"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// Resources reads the resources of a tenant. A read after a command returns its effect.
// Errors: resource_not_found for an id or a cursor of another tenant.
type Resources interface {
	edge.Accounts
	signin.Reader
	// OwnKey finds an API key of the tenant. Keys lists them newest first. Both include
	// revoked and expired keys.
	OwnKey(ctx context.Context, t resources.Tenant, id string) (account.Key, error)
	Keys(ctx context.Context, t resources.Tenant, p projections.Page) ([]account.Key, bool, error)
	Video(ctx context.Context, t resources.Tenant, id string) (video.State, error)
	// Videos lists newest first. An empty status matches all.
	Videos(ctx context.Context, t resources.Tenant, status video.Status, p projections.Page) ([]video.State, bool, error)
	Analysis(ctx context.Context, t resources.Tenant, id string) (resources.Analysis, error)
	Analyses(ctx context.Context, t resources.Tenant, f resources.AnalysisFilter, p projections.Page) ([]resources.Analysis, bool, error)
	// Batch returns the analyses of a batch in the order of its prompts.
	Batch(ctx context.Context, t resources.Tenant, id string) ([]resources.Analysis, error)
	// Stream finds a live stream of the tenant. Streams lists them newest first. An empty status matches all.
	Stream(ctx context.Context, t resources.Tenant, id string) (resources.Stream, error)
	Streams(ctx context.Context, t resources.Tenant, status stream.Status, p projections.Page) ([]resources.Stream, bool, error)
	// WebhookEndpoint finds a webhook endpoint of the tenant. WebhookEndpoints lists them newest
	// first.
	WebhookEndpoint(ctx context.Context, t resources.Tenant, id string) (webhook.Endpoint, error)
	WebhookEndpoints(ctx context.Context, t resources.Tenant, p projections.Page) ([]webhook.Endpoint, bool, error)
	// RemovedVideos reports which of the videos were deleted.
	RemovedVideos(ctx context.Context, ids []string) (map[string]bool, error)
	// AnalysesSince counts the live analyses that an account created since a time.
	AnalysesSince(ctx context.Context, accountID string, since time.Time) (int64, error)
	// DeviceCode finds a device code by its hash, in any state.
	DeviceCode(ctx context.Context, hash string) (account.DeviceCode, bool, error)
	// DeviceCodeOfUser finds a device code by the hash of its user code.
	DeviceCodeOfUser(ctx context.Context, userCodeHash string) (account.DeviceCode, bool, error)
}

// Ledger reads an account's balance and its transactions.
type Ledger interface {
	Balance(ctx context.Context, accountID string) (credit.State, error)
	// Transactions lists newest first. An empty kind matches all.
	Transactions(ctx context.Context, accountID string, kind credit.Kind, p projections.Page) ([]ledger.Transaction, bool, error)
	// Transaction finds a transaction of the account. Error: resource_not_found.
	Transaction(ctx context.Context, accountID, id string) (ledger.Transaction, error)
}

// Proofs proves that the transparency log has the entries of the ledger.
type Proofs interface {
	// Entry returns the proof of an entry, by its version. Error: prove.ErrPending.
	Entry(ctx context.Context, accountID string, version int64) ([]byte, error)
}

// Objects signs the URLs that videos and analyses carry.
type Objects interface {
	UploadURL(ctx context.Context, key, contentType string, maxBytes int64, ttl time.Duration) (objects.Signed, error)
	DownloadURL(ctx context.Context, key, filename, contentType string, ttl time.Duration) (objects.Signed, error)
	// AwaitedURL returns a URL of this service for an object that is not rendered yet.
	AwaitedURL(key, filename, contentType string, ttl time.Duration) (objects.Signed, error)
}

// Pricing is the configured price list (docs/contract.md#pricing).
type Pricing struct {
	// PricePerSecondCents is the price of one billed second, in US cents.
	PricePerSecondCents        decimal.Decimal
	SignupGrantSeconds         int64
	CardGrantSeconds           int64
	AutoRefillThresholdSeconds int64
	AllowedPurchaseCents       []int64
	CustomPurchaseEnabled      bool
	MinPurchaseCents           int64
	// BatchDiscountPct is 0 to 100.
	BatchDiscountPct int
	BatchMinPrompts  int
	BatchMaxPrompts  int
}

// TestFixture is the public video of test mode.
type TestFixture struct {
	// Video is the whole MP4 file.
	Video []byte
	// Prompt is a prompt about the video.
	Prompt string
}

// HealthCheck is a check of GET /readyz.
type HealthCheck struct {
	Name string
	// Check returns nil if the dependency works. Of its error, only the code of a fault is
	// in the response.
	Check func(context.Context) error
	// Code is the error code if Check fails without its own, or times out. The default is
	// capacity_exhausted.
	Code fault.Code
	// Advisory reports a failing check by the word Degraded and leaves the service ready. The
	// node still answers requests that do not depend on it.
	Advisory bool
	// Degraded is the word for a failing advisory check. The default is "low". A check that could
	// not be made (ErrUnchecked) is "failed".
	Degraded string
}

// ErrUnchecked is in the error of an advisory check that could not be made.
var ErrUnchecked = errors.New("the check could not be made")

// Options configure the HTTP interface. A field is required unless its comment names a
// default. The clock, the ids, the catalog and the answers of the fixture come from Service.
type Options struct {
	Service   *command.Service
	Resources Resources
	Ledger    Ledger
	// Checkpoints is nil where no transparency log is kept.
	Checkpoints Checkpoints
	// Proofs is nil where no transparency log is kept. Each proof is pending then.
	Proofs  Proofs
	Objects Objects
	Events  Events
	// Deliveries is nil while nothing is delivered.
	Deliveries Deliveries
	// Live runs the streams of this node.
	Live LiveStreams
	// StreamWindows are the times that a stream waits for its client.
	StreamWindows stream.Windows
	// DeliverNow tells the dispatcher of webhooks of this process that a delivery is due.
	DeliverNow func()
	// Windows counts the requests of all nodes against Rates.
	Windows edge.Windows
	Rates   edge.Rates
	// Creates bounds the live creates that run at once. It has the default of edge.Options.
	Creates *edge.Creates
	// Locks prevent equal requests from running at the same time on any node.
	Locks eventstore.Locks
	// ObjectHandler serves the signed URLs below objects.Path. It is nil if another server
	// does.
	ObjectHandler http.Handler
	// Tools makes the handler of the agent tool endpoint; see edge.Options.
	Tools func(*edge.Edge) http.Handler
	// Authorization serves the paths of OAuth; see edge.Options.
	Authorization http.Handler
	// Targets checks the URLs that the service is asked to call.
	Targets edge.Targets
	// Vocabulary returns the classes of the engine's model, or none if the model accepts any
	// term. ok is false while they are unknown. If Vocabulary is nil, or if the catalog has
	// an open vocabulary, the catalog is used.
	Vocabulary func(ctx context.Context) (terms []string, ok bool)
	Pricing    Pricing
	Fixture    TestFixture
	// Demos are the demo videos. There are none by default.
	Demos Demos
	// Wake subscribes to signals that something changed. Several changes may share one
	// signal, but every change is followed by one. The function ends the subscription.
	Wake func() (<-chan struct{}, func())
	// LegacyKeys is how long keys of the old form are valid. By default they do not end.
	LegacyKeys account.LegacyWindow
	// KeyUsed is called with every key that passed authentication. It must not block. It may
	// be nil.
	KeyUsed func(k account.Key, requestID string)
	// Forged is called with each row of a credential that differs from its events. It must not block. It may be nil.
	Forged func(*eventstore.ForgedError)
	// Sessions verifies first-party sessions. If it is nil, none are accepted.
	Sessions *edge.Sessions
	// SignIn lets people sign in to the pages of this service. If it is nil, they cannot.
	SignIn *SignIn
	// PublicURL is the address of the service for clients, without a trailing slash.
	PublicURL string
	// Reference are the files that render the contract (package reference). If it is nil,
	// /docs is a plain page.
	Reference fs.FS
	Health    []HealthCheck
	// Alarms returns the names of the raised alarms for GET /readyz. The default is none.
	Alarms  func() []string
	Metrics http.Handler
	// Answered is called after every response. It must not block. It may be nil.
	Answered func(edge.Answered)
	// Passing trusts the requests that other nodes pass on. It may be nil.
	Passing *edge.Passing
	// SandboxAddress identifies the client of a request without a credential; see
	// edge.AddressHash.
	SandboxAddress func(*http.Request) string
	// Uncapped reports a client that is exempt from the limits per address on sandboxes and
	// upgrades; see edge.OnThisMachine. If it is nil, no client is exempt.
	Uncapped func(*http.Request) bool
	// FormKey signs the forms of the pages.
	FormKey []byte
	// RequestTimeout, BodyPace and ResponsePace have the defaults of edge.Options.
	RequestTimeout time.Duration
	BodyPace       wire.Pace
	ResponsePace   wire.Pace
	// Streams are the times of event streams.
	Streams StreamTimes
	Log     *slog.Logger
}

// SignIn configures how people sign in. A field is required unless its comment says that it may be nil.
type SignIn struct {
	// Secret and TicketKey are shared by all nodes. Secret signs the tokens of pages. TicketKey has 32 bytes and
	// encrypts the state of a sign-in in the browser.
	Secret, TicketKey []byte
	// Provider is the OpenID provider, or nil.
	Provider signin.Provider
	// Network names the network of a client for people; see edge.ClientNetwork.
	Network func(*http.Request) string
}

// StreamTimes are the times of an event stream. A 0 stands for the default.
type StreamTimes struct {
	// Life is how long a stream may last: 15 minutes by default. Check is how often the
	// credential of its reader is checked again: every 30 s by default.
	Life, Check time.Duration
}

func (o *Options) check() error {
	required := map[string]bool{
		"Service": o.Service != nil, "Resources": o.Resources != nil, "Ledger": o.Ledger != nil, "Objects": o.Objects != nil, "Events": o.Events != nil,
		"Windows": o.Windows != nil, "Locks": o.Locks != nil,
		"Targets": o.Targets != nil, "Fixture.Video": len(o.Fixture.Video) > 0, "Fixture.Prompt": o.Fixture.Prompt != "",
		"Wake": o.Wake != nil, "PublicURL": o.PublicURL != "", "Metrics": o.Metrics != nil,
		"SandboxAddress": o.SandboxAddress != nil, "Log": o.Log != nil,
		"FormKey": len(o.FormKey) > 0, "Live": o.Live != nil,
	}
	var missing []error
	for name, given := range required {
		if !given {
			missing = append(missing, errors.New("httpapi: "+name+" is required"))
		}
	}
	o.Streams.Life = cmp.Or(o.Streams.Life, streamLife)
	o.Streams.Check = cmp.Or(o.Streams.Check, credentialCheck)
	return errors.Join(missing...)
}

// edge returns the options of the edge in front of operations.
func (o Options) edge(c *edge.Contract, operations edge.Operations, deprecations []edge.Deprecation) edge.Options {
	return edge.Options{
		Contract: c, Operations: operations, Service: o.Service, Accounts: edge.Prove(o.Resources, o.Service, o.Forged, o.Service.Now), Windows: o.Windows, Rates: o.Rates, Creates: o.Creates, Locks: o.Locks,
		ObjectHandler: o.ObjectHandler, Targets: o.Targets, LegacyKeys: o.LegacyKeys, KeyUsed: o.KeyUsed, Sessions: o.Sessions,
		PublicURL: o.PublicURL, Deprecations: deprecations, Answered: o.Answered, Address: o.SandboxAddress, Passing: o.Passing, RequestTimeout: o.RequestTimeout,
		Tools: o.Tools, Authorization: o.Authorization, BodyPace: o.BodyPace, ResponsePace: o.ResponsePace, Log: o.Log,
	}
}
