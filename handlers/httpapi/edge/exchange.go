package edge

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/wire"
	"vqa/projections/resources"
)

// Exchange is one request and its response, as the edge's stages and the operations know
// it. It belongs to the goroutine that serves the request.
type Exchange struct {
	// RequestID is shown in the response and in every log line about the request.
	RequestID string
	// Caller is zero for whoever shows no credential.
	Caller command.Caller
	// Recheck asks again whether the caller may go on, or is nil for whoever shows no
	// credential. Its errors are those of authenticate.
	Recheck func(context.Context) error
	// NothingStored is set when the response must not answer a later request with
	// the same Idempotency-Key, because nothing was carried out.
	NothingStored bool
	// Head is true for a HEAD, which is carried out as the GET that Request is.
	Head    bool
	Request *http.Request

	edge *Edge
	log  *slog.Logger
	// operation is nil for a path outside the contract.
	operation *operation
	// shown is true when the request shows a credential, good or not.
	shown bool
	// code is that of the error that was answered, or empty.
	code fault.Code
	// credential is what the request shows, or empty. It opens the responses that hold a secret of
	// the caller's.
	credential string
	// idempotencyKey is the Idempotency-Key as it was sent, or empty.
	idempotencyKey string
	// claim is the caller's hold on its Idempotency-Key, or nil.
	claim *eventstore.Claim
	// signed are the values in the response that differ on every read of the same
	// resource: signed URLs and the times at which they end.
	signed   []any
	response *recorder
}

type exchangeKey struct{}

// ExchangeOf returns the exchange that a context belongs to; outside of the edge, one
// that knows nothing.
func ExchangeOf(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{log: slog.Default()}
}

// Header returns the headers of the response.
func (x *Exchange) Header() http.Header { return x.response.Header() }

// Operation is the operationId of the request.
func (x *Exchange) Operation() string { return x.operation.id }

// Signed notes a signed URL and its end as the response shows them. The ETag leaves them
// out, because they differ on every read.
func (x *Exchange) Signed(url string, ends time.Time) { x.signed = append(x.signed, url, ends) }

// Tenant is whose resources the caller may see.
func (x *Exchange) Tenant() resources.Tenant {
	return resources.Tenant{AccountID: x.Caller.AccountID, Livemode: x.Caller.Livemode, VideoID: x.Caller.VideoID}
}

// recorder notes what was sent, keeps the body when it is asked to, and holds all of it
// back when it is asked to.
type recorder struct {
	http.ResponseWriter
	// paced cuts off a client that reads too slowly.
	paced  *wire.Writer
	status int
	sent   int64
	keep   bool
	// held is true while nothing is sent before send.
	held bool
	body []byte
}

func newRecorder(w http.ResponseWriter, pace wire.Pace) *recorder {
	return &recorder{ResponseWriter: w, paced: pace.Writer(w)}
}

// under reports whether a part of the response was sent.
func (r *recorder) under() bool { return r.status != 0 && !r.held }

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

// send sends what was held back.
func (r *recorder) send() error {
	r.held = false
	if r.status != 0 {
		r.ResponseWriter.WriteHeader(r.status)
	}
	n, err := r.paced.Write(r.body)
	r.sent += int64(n)
	return err
}

// drop forgets what was held back, so that something else can be sent.
func (r *recorder) drop() {
	if r.held {
		r.held, r.status, r.body = false, 0, nil
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
