package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/objects"
	"vqa/handlers/wire"
)

// Edge receives every request, checks it and passes it to its operation. It implements
// http.Handler.
type Edge struct {
	Options
	limiter      *limiter
	subjects     *subjects
	spenders     *spenders
	deprecations deprecations
	// routes is the generated server: parameter binding and routing.
	routes http.Handler
	// tools serves ToolsPath, or is nil.
	tools http.Handler
}

// New returns an edge in front of o.Operations. It fails if a required deprecation is
// missing or names an endpoint that is not in the contract.
func New(o Options) (*Edge, error) {
	o.setDefaults()
	o.Address = clientOf(o.Address)
	deprecations, err := newDeprecations(o.Deprecations, o.Contract)
	if err != nil {
		return nil, err
	}
	e := &Edge{Options: o, limiter: newLimiter(o), subjects: newSubjects(), spenders: newSpenders(), deprecations: deprecations}
	strict := api.NewStrictHandlerWithOptions(o.Operations, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc: WriteError, ResponseErrorHandlerFunc: WriteError,
	})
	e.routes = api.HandlerWithOptions(strict, api.ChiServerOptions{
		ErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) { WriteError(w, r, parameterFault(err)) },
	})
	if o.Tools != nil {
		e.tools = o.Tools(e)
	}
	return e, nil
}

// ServeHTTP implements http.Handler.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := e.Service.Now()
	r = e.Passing.receive(r)
	x := &Exchange{RequestID: e.Service.IDs.New(id.Request), edge: e, log: e.Log, response: newRecorder(w, e.ResponsePace)}
	defer x.response.paced.Finish()
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = e.paced(w, r)
	}
	ctx, _ := eventstore.WithPatience(r.Context(), eventstore.CallerPatience)
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	w.Header().Set("X-Request-Id", x.RequestID)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// X-RateLimit-Reset is an absolute time. net/http would set Date by the clock of this machine.
	w.Header().Set("Date", start.UTC().Format(http.TimeFormat))
	defer e.log(x, r, start)
	defer e.recover(x, r)
	err := e.serve(x, r)
	switch {
	case fault.Has(err, fault.PayloadTooLarge) || fault.Has(err, fault.UnsupportedMediaType):
		wire.Refuse(x.response, r, func() { WriteError(x.response, r, err) })
	case err != nil:
		WriteError(x.response, r, err)
	}
}

// paced returns the body of a request with a minimum speed. For an upload, the handler of
// the objects sets another one.
func (e *Edge) paced(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	body := e.BodyPace.Body(w, r.Body)
	if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, objects.Path) {
		return r.Body
	}
	return body
}

// serve finds the operation of a request and runs it.
func (e *Edge) serve(x *Exchange, r *http.Request) error {
	if e.ObjectHandler != nil && strings.HasPrefix(r.URL.Path, objects.Path) {
		if !slices.Contains(objects.Methods, r.Method) {
			return e.refuseRoute(x, r, objects.Methods)
		}
		// A signed URL was counted when it was created. A player requests many parts of a file.
		_ = e.admit(x, r, exempt, nil)
		e.ObjectHandler.ServeHTTP(x.response, r)
		return nil
	}
	if e.tools != nil && (r.URL.Path == ToolsPath || r.URL.Path == slashed) {
		e.serveTools(x, r)
		return nil
	}
	if e.People != nil && ofPeople(r.URL.Path) {
		return e.servePeople(x, r)
	}
	if op := authorizationOperations[r.URL.Path]; op != nil && e.Authorization != nil {
		return e.serveAuthorization(x, r, op)
	}
	if r.Method == http.MethodHead {
		// net/http drops the body of a response to HEAD.
		r = r.Clone(r.Context())
		r.Method = http.MethodGet
		x.Head = true
	}
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	if r.Method == http.MethodOptions {
		// A preflight request is not counted: the request that follows is.
		_ = e.admit(x, r, exempt, nil)
	}
	if e.preflight(x.response, r, path) {
		return nil
	}
	op, allowed := e.Contract.find(r.Method, path)
	if op == nil {
		return e.refuseRoute(x, r, allowed)
	}
	x.operation = op
	if openToBrowsers(r.Method, op) {
		setCORS(x.response.Header())
	}
	ctx, cancel := e.deadline(r.Context(), op)
	defer cancel()
	return e.run(x, r.WithContext(ctx))
}

// refuseRoute answers a request without an operation: 404 for an unknown path, 405 for a
// method that the path does not have (docs/contract.md#error-violations).
func (e *Edge) refuseRoute(x *Exchange, r *http.Request, allowed []string) error {
	kind, err := classOf(r.Method, "")
	if err == nil {
		err = e.admit(x, r, kind, nil)
	}
	if err != nil {
		return err
	}
	if len(allowed) == 0 {
		return fault.New(fault.ResourceNotFound, "This path does not exist. The reference at /docs lists the paths.")
	}
	x.response.Header().Set("Allow", strings.Join(allowed, ", "))
	x.code = fault.ValidationFailed
	f := fault.Newf(fault.ValidationFailed, "The method %.20q is not allowed for this path. The response header Allow lists the allowed methods.", r.Method)
	writeEnvelope(x.response, http.StatusMethodNotAllowed, f, x.RequestID)
	return nil
}

func (e *Edge) deadline(ctx context.Context, op *operation) (context.Context, context.CancelFunc) {
	if op.streams || op.socket {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, e.longest(op))
}

// longest returns the time limit of an operation, including the longest time that its
// caller may choose to wait.
func (e *Edge) longest(op *operation) time.Duration {
	if op.waits {
		return e.RequestTimeout + maxWait
	}
	return e.RequestTimeout
}

// run carries out an operation of the contract.
func (e *Edge) run(x *Exchange, r *http.Request) error {
	began := e.Service.Now()
	joinPreferHeaders(r.Header)
	x.Request = r
	e.deprecations.addForOperation(x.response.Header(), x.operation)
	defer x.leave()
	rate := x.operation.rate
	if _, passed := passedOn(r); passed {
		rate = exempt // the node that passed it on has counted it
	}
	early := e.countEarly(r, x.operation, rate)
	authErr, err := e.identify(x, r)
	counted := early.wait()
	if err != nil {
		return err
	}
	// A request with a wrong credential also counts, by address: it may be guessing keys.
	if err := e.admit(x, r, rate, counted); err != nil {
		return err
	}
	if authErr != nil {
		return authErr
	}
	defer e.finishReplay(x, r)
	if done, err := e.check(x, r); done || err != nil {
		return err
	}
	x.response.Header().Set("Cache-Control", x.operation.caching())
	x.response.keep = x.claim != nil
	x.response.held = x.operation.conditional
	x.ran = true
	e.routes.ServeHTTP(x.response, r)
	if x.operation.conditional {
		e.answerConditional(x, r, began)
	}
	return nil
}

// identify authenticates a request and takes a place for a live create. err is that of enterLive or
// stillSpent.
func (e *Edge) identify(x *Exchange, r *http.Request) (authErr, err error) {
	if x.operation.public {
		return nil, nil
	}
	credential, _, _ := x.operation.bearer(r) // authenticate returns the error
	early := x.operation.creates && looksLive(credential)
	if early {
		if err := e.stillSpent(x, r, credential); err != nil {
			return nil, err
		}
		if err := e.enterLive(x, r, true); err != nil {
			return nil, err
		}
		// Others of the same client may have been refused while this one was in line.
		if err := e.stillSpent(x, r, credential); err != nil {
			return nil, err
		}
	}
	authErr = e.authenticate(x, r)
	if early && x.Caller.AccountID != "" {
		e.spenders.verified(credential)
	}
	if authErr != nil {
		return authErr, nil
	}
	return nil, e.enterLive(x, r, x.Caller.Livemode)
}

// check validates a request against the contract and reports all violations at once. It
// returns true if the stored response of an earlier request with the same Idempotency-Key
// has been sent.
func (e *Edge) check(x *Exchange, r *http.Request) (bool, error) {
	op, v := x.operation, &verdict{}
	op.checkParameters(r, v)
	if op.form {
		return false, e.checkForm(x, r, v)
	}
	raw, err := x.body(r)
	if err != nil {
		return false, err
	}
	if op.text != "" {
		if len(raw) == 0 {
			v.add("", fault.Required, "A body is required.")
		}
		setBody(r, raw)
		return false, errors.Join(v.err(), e.checkBinding(x, r, nil))
	}
	value, given := op.parseBody(raw, v)
	if err := e.checkBinding(x, r, value); err != nil {
		return false, err
	}
	if op.idempotent && len(v.violations) == 0 {
		if err := e.readIdempotencyKey(x, r, value); err != nil {
			return false, err
		}
		if replayed, err := e.replay(x, r); replayed || err != nil {
			return replayed, err
		}
	}
	var body []byte
	if given {
		if body, err = e.checkBody(op, value, v); err != nil {
			return false, err
		}
	}
	if err := v.err(); err != nil {
		return false, err
	}
	setBody(r, body)
	return false, nil
}

// recover turns a panic into internal_error. If a part of the response was sent already,
// it closes the connection, so that the client notices that the response is incomplete.
func (e *Edge) recover(x *Exchange, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	e.Log.ErrorContext(r.Context(), "request panicked", "request_id", x.RequestID, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	x.response.drop()
	if x.response.status != 0 {
		panic(http.ErrAbortHandler)
	}
	WriteError(x.response, r, fmt.Errorf("panic: %v", v))
}

// log writes one line for each request. A successful read and a probe are logged at debug level,
// because clients send several a second. A logged path may contain ids, but
// never a secret. The query string is left out, because it may contain a signature.
func (e *Edge) log(x *Exchange, r *http.Request, start time.Time) {
	name := ""
	if x.operation != nil {
		name = x.operation.id
	}
	took := e.Service.Now().Sub(start)
	if e.Answered != nil {
		stream := x.operation != nil && x.operation.streams
		e.Answered(Answered{Operation: name, Status: x.response.status, Code: x.code, Took: took, Stream: stream})
	}
	level := slog.LevelInfo
	if x.Probe || x.response.status < http.StatusBadRequest && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		level = slog.LevelDebug
	}
	e.Log.LogAttrs(r.Context(), level, "request",
		slog.String("request_id", x.RequestID), slog.String("method", r.Method), slog.String("path", e.Contract.loggedPath(r.URL.Path)),
		slog.String("operation", name), slog.Int("status", x.response.status), slog.Int64("bytes", x.response.sent),
		slog.Duration("took", took), slog.String("account_id", x.Caller.AccountID),
		slog.String("key_id", x.Caller.KeyID))
}
