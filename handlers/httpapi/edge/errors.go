package edge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/wire"
)

// WriteError answers a request with an error, and is the only function that does: the
// envelope of the contract (api-v1.md, "Errors"). A *fault.Fault is shown with its own
// code; a lost database is db_unavailable; everything else is internal_error, logged
// with its cause and never shown.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	x := ExchangeOf(r.Context())
	if x.response != nil && x.response.under() {
		undelivered(r.Context(), x, err)
		return
	}
	f := AsFault(r.Context(), err)
	if f.Code == fault.InternalError && errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		f = ended(r.Context(), err)
	}
	entry := fault.Lookup(f.Code)
	if entry.Status == 0 {
		// A code of failed resources says nothing about a request.
		entry = fault.Lookup(fault.InternalError)
		f = fault.New(fault.InternalError, "").WithCause(err)
	}
	if entry.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		level := slog.LevelError
		if entry.Status == http.StatusServiceUnavailable {
			level = slog.LevelWarn // a state of the service, told to be tried again
		}
		x.log.Log(r.Context(), level, "request failed", "request_id", x.RequestID, "code", string(f.Code), "error", cause(err))
	}
	x.code = f.Code
	challenge(w.Header(), x, f)
	writeEnvelope(w, entry.Status, f, x.RequestID)
}

// ended is the fault of a request that was cut off before its answer: by the program that
// stops, which says so in the cause of the context, or by a client that left.
func ended(ctx context.Context, err error) *fault.Fault {
	if f := fault.Of(context.Cause(ctx)); f != nil {
		return f
	}
	return fault.Invalid(fault.Violation{Code: fault.Format, Message: "The client closed the connection before its answer."}).WithCause(err)
}

// undelivered logs the error of a response that is on its way: nobody can be told. One of
// the connection is the client's.
func undelivered(ctx context.Context, x *Exchange, err error) {
	level := slog.LevelError
	var network *net.OpError
	if ctx.Err() != nil || errors.Is(err, wire.ErrSlow) || errors.As(err, &network) {
		level = slog.LevelDebug
	}
	x.log.Log(ctx, level, "response not delivered", "request_id", x.RequestID, "error", err.Error())
}

// writeEnvelope writes a fault with a status that may differ from its code's own.
func writeEnvelope(w http.ResponseWriter, status int, f *fault.Fault, requestID string) {
	var body api.Error
	body.Error.Code, body.Error.Message, body.Error.Status = string(f.Code), f.Message, status
	body.Error.RequestId = requestID
	if f.Param != "" {
		body.Error.Param = &f.Param
	}
	if len(f.Details) > 0 {
		body.Error.Details = &f.Details
	}
	if len(f.Violations) > 0 {
		body.Error.Errors = new(violations(f.Violations))
	}
	if f.OmittedViolations > 0 {
		body.Error.ErrorsOmitted = &f.OmittedViolations
	}
	h := w.Header()
	if f.RetryAfterS > 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(max(f.RetryAfterS, 1)))
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The status is sent: nobody is left to tell about a failing write.
	_ = json.NewEncoder(w).Encode(body)
}

func violations(vs []fault.Violation) []api.Violation {
	list := make([]api.Violation, len(vs))
	for i, v := range vs {
		list[i] = api.Violation{Param: v.Param, Code: api.ViolationCode(v.Code), Message: v.Message}
	}
	return list
}

// AsFault gives every error of a request the code under which a caller sees it.
func AsFault(ctx context.Context, err error) *fault.Fault {
	if f := fault.Of(err); f != nil {
		return f
	}
	silent := errors.Is(err, context.DeadlineExceeded) && eventstore.PatienceOf(ctx).Over()
	if silent || databaseLost(err) {
		return fault.New(fault.DBUnavailable, "").WithCause(err)
	}
	return fault.New(fault.InternalError, "").WithCause(err)
}

// sqlUnavailable are the SQLSTATE classes of a server that cannot serve now:
// connection exception, insufficient resources, operator intervention.
var sqlUnavailable = []string{"08", "53", "57P"}

// databaseLost recognises a database that is away by the errors of its connection,
// without knowing its driver.
func databaseLost(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		for _, class := range sqlUnavailable {
			if strings.HasPrefix(state.SQLState(), class) {
				return true
			}
		}
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	// What its driver never sent may be sent again: the connection broke before.
	var unsent interface{ SafeToRetry() bool }
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &unsent) && unsent.SafeToRetry()
}

// cause is what a log line says about an error: a fault's own text hides its cause.
func cause(err error) string {
	if f := fault.Of(err); f != nil && f.Cause != nil {
		return f.Error() + ": " + f.Cause.Error()
	}
	return err.Error()
}
