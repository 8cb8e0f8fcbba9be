package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/media/objects"
	"vqa/handlers/wire"
	"vqa/projections/resources"
)

// exchange is one request and its response, as the edge's stages know it. It belongs
// to the goroutine that serves the request.
type exchange struct {
	requestID string
	log       *slog.Logger
	// operation is nil for a path outside the contract.
	operation *operation
	// caller is zero for whoever shows no credential.
	caller command.Caller
	// recheck asks again whether the caller may go on, or is nil for whoever shows no
	// credential. Its errors are those of authenticate.
	recheck func(context.Context) error
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
	// signed is what was signed for the response.
	signed []objects.Signed
	// nothingStored is set when the response must not answer a later request with
	// the same Idempotency-Key, because nothing was carried out.
	nothingStored bool
	// head is true for a HEAD, which is carried out as the GET that request is.
	head     bool
	request  *http.Request
	response *recorder
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a context belongs to; outside of the edge, one
// that knows nothing.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{log: slog.Default()}
}

// tenant is whose resources the caller may see.
func (x *exchange) tenant() resources.Tenant {
	return resources.Tenant{AccountID: x.caller.AccountID, Livemode: x.caller.Livemode, VideoID: x.caller.VideoID}
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
