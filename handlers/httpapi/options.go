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
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/objects"
	"vqa/handlers/wire"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// Resources reads what a tenant owns. A read that follows a command sees its effect.
// Errors: resource_not_found for an id or a cursor that is not the tenant's.
type Resources interface {
	edge.Accounts
	// OwnKey finds an API key of the tenant, and Keys lists them newest first; ended ones
	// too.
	OwnKey(ctx context.Context, t resources.Tenant, id string) (account.Key, error)
	Keys(ctx context.Context, t resources.Tenant, p projections.Page) ([]account.Key, bool, error)
	Video(ctx context.Context, t resources.Tenant, id string) (video.State, error)
	// Videos lists newest first; an empty status is every status.
	Videos(ctx context.Context, t resources.Tenant, status video.Status, p projections.Page) ([]video.State, bool, error)
	Analysis(ctx context.Context, t resources.Tenant, id string) (resources.Analysis, error)
	Analyses(ctx context.Context, t resources.Tenant, f resources.AnalysisFilter, p projections.Page) ([]resources.Analysis, bool, error)
	// Batch returns the analyses of a batch in the order of its prompts.
	Batch(ctx context.Context, t resources.Tenant, id string) ([]resources.Analysis, error)
	// RemovedVideos tells which of some videos were deleted.
	RemovedVideos(ctx context.Context, ids []string) (map[string]bool, error)
	// AnalysesSince counts the live analyses that an account created since then.
	AnalysesSince(ctx context.Context, accountID string, since time.Time) (int64, error)
	// DeviceCode finds a device code by its hash, whatever its state.
	DeviceCode(ctx context.Context, hash string) (account.DeviceCode, bool, error)
	// DeviceCodeOfUser finds a device code by the hash of its user code.
	DeviceCodeOfUser(ctx context.Context, userCodeHash string) (account.DeviceCode, bool, error)
}

// Ledger reads an account's balance and its transactions.
type Ledger interface {
	Balance(ctx context.Context, accountID string) (credit.State, error)
	// Transactions lists newest first; an empty kind is every kind.
	Transactions(ctx context.Context, accountID string, kind credit.Kind, p projections.Page) ([]ledger.Transaction, bool, error)
}

// Objects signs the URLs that videos and analyses carry.
type Objects interface {
	UploadURL(ctx context.Context, key, contentType string, maxBytes int64, ttl time.Duration) (objects.Signed, error)
	DownloadURL(ctx context.Context, key, filename, contentType string, ttl time.Duration) (objects.Signed, error)
	// AwaitedURL is one of this service's own, for an object that is still being made.
	AwaitedURL(key, filename, contentType string, ttl time.Duration) (objects.Signed, error)
}

// Pricing is the configured price list (api-v1.md, "Usage meters and credits").
type Pricing struct {
	// PricePerSecondCents is the cost of one billed second, in US cents.
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

// TestFixture is the video of test mode as it is served to anyone.
type TestFixture struct {
	// Video is the whole file, an MP4.
	Video []byte
	// Prompt is a question about it.
	Prompt string
}

// HealthCheck is one thing that the service cannot do without.
type HealthCheck struct {
	Name string
	// Check returns nil when all is well; a fault's code is shown, nothing else.
	Check func(context.Context) error
	// Code is shown when Check fails without a code of its own, also because it does not answer;
	// empty is capacity_exhausted.
	Code fault.Code
	// Advisory reports a failing check as "low" and leaves the service ready: what it
	// names is refused by itself, and everything else still works.
	Advisory bool
}

// Options are what the edge is made of. Every field without a stated default is
// required. The clock, the ids, the catalog and the fixture's answers are those of
// Service.
type Options struct {
	Service   *command.Service
	Resources Resources
	Ledger    Ledger
	Objects   Objects
	Events    Events
	// Windows counts requests for all nodes, under Rates.
	Windows edge.Windows
	Rates   edge.Rates
	// Locks keep equal requests from running at once, over all nodes.
	Locks eventstore.Locks
	// ObjectHandler serves the signed URLs below objects.Path; nil when another
	// server does.
	ObjectHandler http.Handler
	// CheckURL refuses a URL that may not be fetched, without asking the network.
	// Errors: url_forbidden, validation_failed.
	CheckURL func(rawURL string) error
	// Vocabulary is what the model behind the engine knows, none when it takes any term;
	// ok is false while nobody knows. nil leaves what the catalog says, and so
	// does a catalog that says that any term is taken.
	Vocabulary func(ctx context.Context) (terms []string, ok bool)
	Pricing    Pricing
	Fixture    TestFixture
	// Demos are the demo videos; none by default.
	Demos Demos
	// Wake subscribes to "something changed": the channel may miss signals, never
	// the last one. The function ends the subscription.
	Wake func() (<-chan struct{}, func())
	// LegacyKeys is how long keys of the old form are good; no end by default.
	LegacyKeys account.LegacyWindow
	// KeyUsed is told of every key that opens the door, and must not block; nil when
	// nobody wants to know.
	KeyUsed func(k account.Key, requestID string)
	// Sessions verifies first-party sessions; nil when none are accepted.
	Sessions *edge.Sessions
	// PublicURL is the address under which clients reach the service, without a
	// trailing slash.
	PublicURL string
	// Reference are the files that render the contract (package reference); nil when they
	// are not installed, and then /docs is a plain page.
	Reference fs.FS
	Health    []HealthCheck
	Metrics   http.Handler
	// Answered is told of every request after its response, and must not block; nil tells
	// nobody.
	Answered func(edge.Answered)
	// SandboxAddress identifies the client of an anonymous request; see edge.AddressHash.
	SandboxAddress func(*http.Request) string
	// Uncapped reports a client that the caps per address on sandboxes and upgrades do not
	// bind; see edge.OnThisMachine. nil binds everyone.
	Uncapped func(*http.Request) bool
	// FormKey signs the forms of the pages for people.
	FormKey []byte
	// RequestTimeout bounds a request, except for the time that its caller chose to
	// wait; 0 is 60 s.
	RequestTimeout time.Duration
	// BodyPace is how slow the body of a request may be, uploads apart; 10 s of patience,
	// 16 KiB per second and 30 s in all by default.
	BodyPace wire.Pace
	// ResponsePace is how slowly a client may read; a minute of patience and 16 KiB per
	// second by default.
	ResponsePace wire.Pace
	// Streams are the times of event streams.
	Streams StreamTimes
	Log     *slog.Logger
}

// StreamTimes are the times of an event stream; 0 is the default.
type StreamTimes struct {
	// Life is how long a stream may last, 15 minutes by default, and Check how often the
	// credential of its reader is looked at again, 30 s by default.
	Life, Check time.Duration
}

func (o *Options) check() error {
	required := map[string]bool{
		"Service": o.Service != nil, "Resources": o.Resources != nil, "Ledger": o.Ledger != nil, "Objects": o.Objects != nil, "Events": o.Events != nil,
		"Windows": o.Windows != nil, "Locks": o.Locks != nil,
		"CheckURL": o.CheckURL != nil, "Fixture.Video": len(o.Fixture.Video) > 0, "Fixture.Prompt": o.Fixture.Prompt != "",
		"Wake": o.Wake != nil, "PublicURL": o.PublicURL != "", "Metrics": o.Metrics != nil,
		"SandboxAddress": o.SandboxAddress != nil, "Log": o.Log != nil,
		"FormKey": len(o.FormKey) > 0,
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

// edge are the options of the edge in front of operations.
func (o Options) edge(c *edge.Contract, operations edge.Operations, deprecations []edge.Deprecation) edge.Options {
	return edge.Options{
		Contract: c, Operations: operations, Service: o.Service, Accounts: o.Resources, Windows: o.Windows, Rates: o.Rates, Locks: o.Locks,
		ObjectHandler: o.ObjectHandler, CheckURL: o.CheckURL, LegacyKeys: o.LegacyKeys, KeyUsed: o.KeyUsed, Sessions: o.Sessions,
		Deprecations: deprecations, Answered: o.Answered, Address: o.SandboxAddress, RequestTimeout: o.RequestTimeout,
		BodyPace: o.BodyPace, ResponsePace: o.ResponsePace, Log: o.Log,
	}
}
