package edge

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/wire"
)

// Operations are what the edge guards: the operations of the contract, and what it must
// ask them about a request.
type Operations interface {
	api.StrictServerInterface
	// FindAnalysis reads an analysis of the caller of ctx and reports whether there is
	// one. Error: resource_not_found.
	FindAnalysis(ctx context.Context, analysisID string) error
	// Recreate renders the response of a request whose program ended, or has not yet come,
	// between its commit and its response, from the resource that the receipt names.
	Recreate(ctx context.Context, x *Exchange, receipt eventstore.Receipt) (status int, body []byte, err error)
}

// Accounts reads what credentials stand for.
type Accounts interface {
	// Key finds the API key of a secret's hash, whatever its state.
	Key(ctx context.Context, secretHash string) (account.Key, bool, error)
	// ClientToken finds the client token of a secret's hash with the key that minted it,
	// whatever the state of either.
	ClientToken(ctx context.Context, secretHash string) (account.ClientToken, account.Key, bool, error)
	// Account finds an account, without its keys.
	Account(ctx context.Context, id string) (account.State, bool, error)
}

// Answered is a request with its response, for those who count.
type Answered struct {
	// Operation is the operationId of the contract, empty for a path outside it.
	Operation string
	Status    int
	// Code is that of the error envelope, empty where there was none.
	Code fault.Code
	Took time.Duration
	// Stream is true for an event stream, which lasts as long as its reader wants.
	Stream bool
}

// Options are what the edge is made of. Every field without a stated default is
// required. The clock and the ids are those of Service.
type Options struct {
	Contract   *Contract
	Operations Operations
	Service    *command.Service
	Accounts   Accounts
	// Windows counts requests for all nodes, under Rates.
	Windows Windows
	Rates   Rates
	// Locks keep equal requests from running at once, over all nodes.
	Locks eventstore.Locks
	// ObjectHandler serves the signed URLs below objects.Path; nil when another
	// server does.
	ObjectHandler http.Handler
	// CheckURL refuses a URL that may not be fetched, without asking the network.
	// Errors: url_forbidden, validation_failed.
	CheckURL func(rawURL string) error
	// LegacyKeys is how long keys of the old form are good; no end by default.
	LegacyKeys account.LegacyWindow
	// KeyUsed is told of every key that opens the door, and must not block; nil when
	// nobody wants to know.
	KeyUsed func(k account.Key, requestID string)
	// Sessions verifies first-party sessions; nil when none are accepted.
	Sessions *Sessions
	// Deprecations must hold DeprecatedLegacyKeys and DeprecatedModelAliases.
	Deprecations []Deprecation
	// Answered is told of every request after its response, and must not block; nil tells
	// nobody.
	Answered func(Answered)
	// Address identifies the client of an anonymous request; see AddressHash.
	Address func(*http.Request) string
	// RequestTimeout bounds a request, except for the time that its caller chose to
	// wait; 0 is 60 s.
	RequestTimeout time.Duration
	// BodyPace is how slow the body of a request may be, uploads apart; 10 s of patience,
	// 16 KiB per second and 30 s in all by default.
	BodyPace wire.Pace
	// ResponsePace is how slowly a client may read; a minute of patience and 16 KiB per
	// second by default.
	ResponsePace wire.Pace
	Log          *slog.Logger
}

// defaultBodyPace lets a body of 1 MiB take 30 s, and cuts off one that stalls after 10 s:
// before RequestTimeout, so that the client learns why.
var defaultBodyPace = wire.Pace{Patience: 10 * time.Second, Rate: 16 << 10, Total: 30 * time.Second}

// defaultResponsePace cuts off a client that stops reading. The player of a video that is paused asks
// for the rest when it goes on.
var defaultResponsePace = wire.Pace{Patience: 60 * time.Second, Rate: 16 << 10}

// defaultRequestTimeout is generous because completing an upload reads the file.
const defaultRequestTimeout = 60 * time.Second

func (o *Options) setDefaults() {
	if o.RequestTimeout == 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	if o.BodyPace.Rate == 0 {
		o.BodyPace = defaultBodyPace
	}
	if o.ResponsePace.Rate == 0 {
		o.ResponsePace = defaultResponsePace
	}
}
