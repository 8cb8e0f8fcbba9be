package edge

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"vqa/domain/account"
	"vqa/domain/admission"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/wire"
)

// Operations are the operations behind the edge. The edge also asks them about resources.
type Operations interface {
	api.StrictServerInterface
	// Recreate renders the response of an earlier request from the resource in its receipt.
	// It is called if the request was committed but its response was not stored, for
	// instance because the server stopped in between.
	Recreate(ctx context.Context, x *Exchange, receipt eventstore.Receipt) (status int, body []byte, err error)
}

// Accounts reads the accounts, keys and tokens that credentials belong to.
type Accounts interface {
	// Key finds the API key with the hash of a secret, in any state.
	Key(ctx context.Context, secretHash string) (account.Key, bool, error)
	// ClientToken finds the client token with the hash of a secret, and the key that created
	// it, in any state.
	ClientToken(ctx context.Context, secretHash string) (account.ClientToken, account.Key, bool, error)
	// Account finds an account. Its keys are left out.
	Account(ctx context.Context, id string) (account.State, bool, error)
	// Session finds the session of a person by the hash of its secret, and SessionByID by its id, both in any
	// state.
	Session(ctx context.Context, secretHash string) (account.Session, bool, error)
	SessionByID(ctx context.Context, id string) (account.Session, bool, error)
	// Grant finds the permission of an agent, in any state.
	Grant(ctx context.Context, id string) (grant.State, bool, error)
}

// Answered describes a finished request, for metrics.
type Answered struct {
	// Operation is the operationId, or empty for a path that is not in the contract.
	Operation string
	Status    int
	// Code is the code of the error envelope, or empty.
	Code fault.Code
	Took time.Duration
	// Stream is true for an event stream, whose duration says nothing about the service.
	Stream bool
}

// Options configure the edge. A field is required unless its comment names a default. The
// edge uses the clock and the id source of Service.
type Options struct {
	Contract   *Contract
	Operations Operations
	Service    *command.Service
	Accounts   Accounts
	// Windows counts the requests of all nodes against Rates.
	Windows Windows
	Rates   Rates
	// Creates bounds the live creates that run at once. The default has admission.Default.
	Creates *Creates
	// Locks prevent equal requests from running at the same time on any node.
	Locks eventstore.Locks
	// ObjectHandler serves the signed URLs below objects.Path. It is nil if another server
	// does.
	ObjectHandler http.Handler
	// Tools makes the handler of ToolsPath, which sends the requests of its tools to the edge. If it is
	// nil, the path does not exist.
	Tools func(*Edge) http.Handler
	// Authorization serves the paths of OAuth. If it is nil, these do not exist and access tokens are refused.
	Authorization http.Handler
	// Targets checks the URLs that the service is asked to call.
	Targets Targets
	// LegacyKeys is how long keys of the old form are valid. By default they do not end.
	LegacyKeys account.LegacyWindow
	// KeyUsed is called with every key that passed authentication. It must not block. It may
	// be nil.
	KeyUsed func(k account.Key, requestID string)
	// PublicURL is the address of the service. A session on a WebSocket works on its pages only. Over
	// https, cookies are secure.
	PublicURL string
	// Sessions verifies first-party sessions. If it is nil, none are accepted.
	Sessions *Sessions
	// Tokens issues and verifies the tokens of the service's own pages. If it is nil, there are none.
	Tokens *SessionTokens
	// People serves the pages on which people sign in. If it is nil, they do not exist.
	People People
	// Deprecations must contain DeprecatedLegacyKeys and DeprecatedModelAliases.
	Deprecations []Deprecation
	// Answered is called after every response. It must not block. It may be nil.
	Answered func(Answered)
	// Address identifies the client of a request without a credential; see AddressHash.
	Address func(*http.Request) string
	// Passing trusts the requests that other nodes pass on. It is nil for a node without others.
	Passing *Passing
	// RequestTimeout is the time limit of a request, without the time that its caller chose
	// to wait. The default is 60 s.
	RequestTimeout time.Duration
	// BodyPace is the minimum speed of a request body, except for uploads. The default is a
	// pause of at most 10 s, 16 KiB per second and 30 s in all.
	BodyPace wire.Pace
	// ResponsePace is the minimum speed at which a client must read. The default is a pause
	// of at most one minute and 16 KiB per second.
	ResponsePace wire.Pace
	Log          *slog.Logger
}

// defaultBodyPace gives a body of 1 MiB 30 s and disconnects a client that pauses for 10 s.
// Both are shorter than RequestTimeout, so that the client gets an error with the reason.
var defaultBodyPace = wire.Pace{Patience: 10 * time.Second, Rate: 16 << 10, Total: 30 * time.Second}

// defaultResponsePace disconnects a client that stops reading. A paused video player
// requests the rest when it continues.
var defaultResponsePace = wire.Pace{Patience: 60 * time.Second, Rate: 16 << 10}

// defaultRequestTimeout is long because completing an upload reads the whole file.
const defaultRequestTimeout = 60 * time.Second

func (o *Options) setDefaults() {
	if o.RequestTimeout == 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	if o.Creates == nil {
		o.Creates = NewCreates(admission.Default, o.Log)
	}
	if o.BodyPace.Rate == 0 {
		o.BodyPace = defaultBodyPace
	}
	if o.ResponsePace.Rate == 0 {
		o.ResponsePace = defaultResponsePace
	}
}

// Targets checks a URL without using the network. Errors: url_forbidden, validation_failed.
type Targets interface {
	// CheckURL checks the URL of a video.
	CheckURL(rawURL string) error
	// CheckWebhookURL checks the URL of a webhook, which may have more ports.
	CheckWebhookURL(rawURL string) error
}
