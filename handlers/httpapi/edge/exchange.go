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
	"vqa/handlers/wire"
	"vqa/projections/resources"
)

// Exchange is the state of one request and its response. The edge creates it, and the
// operations read it from the context. Only the goroutine of the request may use it.
type Exchange struct {
	// RequestID is in the response and in every log line about the request.
	RequestID string
	// Caller is the zero value for a request without a credential.
	Caller command.Caller
	// Recheck checks again that the credential is valid. It is nil for a request without a
	// credential, and for one that another node passed on: that node checks. Its errors are
	// those of authenticate.
	Recheck func(context.Context) error
	// NothingStored is true if the request changed nothing, for instance with
	// validate_only. Its response is not stored for its Idempotency-Key.
	NothingStored bool
	// Probe is true if an error response is the result of a probe of this node. It is neither
	// logged nor counted as an error.
	Probe bool
	// Head is true for a HEAD request, which runs as GET. Request has the method GET.
	Head    bool
	Request *http.Request

	edge *Edge
	log  *slog.Logger
	// admitted is the place of a live create in Edge.Creates, or nil. shed is true if it got none.
	admitted *admitted
	shed     bool
	// raw is the body of the request, and unread the error of reading it, once read is true.
	raw    []byte
	unread error
	read   bool
	// ran is true from the start of the operation.
	ran bool
	// operation is nil for a path outside the contract.
	operation *operation
	// code is the error code of the response, or empty.
	code fault.Code
	// credential is the credential of the request, valid or not, or empty. Stored responses
	// that contain a secret are encrypted with it.
	credential string
	// own is the session of this service that SignIn accepted, or zero.
	own account.Session
	// session is the hash of the session that SignIn accepted, or empty.
	session string
	// idempotencyKey is the Idempotency-Key as it was sent, or empty.
	idempotencyKey string
	// claim is the lock on the Idempotency-Key while the request runs, or nil.
	claim *eventstore.Claim
	// stopRenewals ends the renewals of claim.
	stopRenewals func()
	// signed are the values in the response that differ on every read of the same
	// resource: signed URLs and the times at which they expire.
	signed   []any
	response *recorder
}

type exchangeKey struct{}

// ExchangeOf returns the exchange of a context, or an empty one if the context does not
// belong to a request.
func ExchangeOf(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{log: slog.Default()}
}

// Header returns the headers of the response.
func (x *Exchange) Header() http.Header { return x.response.Header() }

// Operation returns the operationId of the request.
func (x *Exchange) Operation() string { return x.operation.id }

// Signed records a signed URL and its expiry as they are in the response. The ETag leaves
// them out, because they differ on every read.
func (x *Exchange) Signed(url string, expires time.Time) {
	x.signed = append(x.signed, url, expires)
}

// body reads the body of the request. Later calls return the same.
func (x *Exchange) body(r *http.Request) ([]byte, error) {
	if !x.read {
		x.read = true
		x.raw, x.unread = x.operation.receive(x.response, r)
	}
	return x.raw, x.unread
}

// Tenant returns the owner of the resources that the caller may read. A client token that is not bound reads only what
// was created with it.
func (x *Exchange) Tenant() resources.Tenant {
	t := resources.Tenant{AccountID: x.Caller.AccountID, Livemode: x.Caller.Livemode, VideoID: x.Caller.VideoID}
	if x.Caller.VideoID == "" && x.Caller.StreamID == "" {
		t.TokenID = x.Caller.TokenID
	}
	return t
}

// recorder records the status and the size of a response. It can also keep a copy of the
// body, or hold the whole response back.
type recorder struct {
	http.ResponseWriter
	// paced disconnects a client that reads too slowly.
	paced  *wire.Writer
	status int
	sent   int64
	// keep stores a copy of the body.
	keep bool
	// held stores the response until send is called.
	held bool
	body []byte
}

func newRecorder(w http.ResponseWriter, pace wire.Pace) *recorder {
	return &recorder{ResponseWriter: w, paced: pace.Writer(w)}
}

// started reports whether a part of the response was sent.
func (r *recorder) started() bool { return r.status != 0 && !r.held }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	if !r.held {
		r.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.keep || r.held {
		r.body = append(r.body, p...)
	}
	if r.held {
		return len(p), nil
	}
	n, err := r.paced.Write(p)
	r.sent += int64(n)
	return n, err
}

// send sends the response that was held back.
func (r *recorder) send() error {
	r.held = false
	if r.status != 0 {
		r.ResponseWriter.WriteHeader(r.status)
	}
	n, err := r.paced.Write(r.body)
	r.sent += int64(n)
	return err
}

// drop discards the response that was held back, so that another one can be sent.
func (r *recorder) drop() {
	if r.held {
		r.held, r.status, r.body = false, 0, nil
	}
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
