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

// WriteError answers a request with the error envelope (docs/contract.md#errors). All error
// responses go through it. A *fault.Fault is sent with its code, and a lost database
// connection as db_unavailable. Every other error is sent as internal_error: its cause is
// logged and never sent.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	x := ExchangeOf(r.Context())
	if x.response != nil && x.response.started() {
		logUndelivered(r.Context(), x, err)
		return
	}
	f := AsFault(r.Context(), err)
	if f.Code == fault.InternalError && errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		f = aborted(r.Context(), err)
	}
	entry := fault.Lookup(f.Code)
	if entry.Status == 0 {
		// The code of a failed resource is never the code of a response.
		entry = fault.Lookup(fault.InternalError)
		f = fault.New(fault.InternalError, "").WithCause(err)
	}
	// A shed create is not logged here: writing the line would cost more than the refusal.
	if entry.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) && !x.shed && !x.Probe {
		level := slog.LevelError
		if entry.Status == http.StatusServiceUnavailable {
			level = slog.LevelWarn // a temporary state: the client is asked to try again
		}
		x.log.Log(r.Context(), level, "request failed", "request_id", x.RequestID, "code", string(f.Code), "error", cause(err))
	}
	if !x.Probe {
		x.code = f.Code
	}
	challenge(w.Header(), x, f)
	if x.operation == toolsOperation {
		writeRPCError(w, entry.Status, f, x.RequestID)
		return
	}
	status := entry.Status
	var other interface{ HTTPStatus() int } // a status of HTTP that no code has, such as 412
	if errors.As(err, &other) {
		status = other.HTTPStatus()
	}
	if x.operation == peopleOperation && strings.Contains(r.Header.Get("Accept"), "text/html") {
		x.edge.People.Problem(w, r, status, f)
		return
	}
	writeEnvelope(w, status, f, x.RequestID)
}

// aborted returns the fault of a request that was canceled before its response. If the
// server is shutting down, the cause of the context is the fault. Otherwise the client
// disconnected.
func aborted(ctx context.Context, err error) *fault.Fault {
	if f := fault.Of(context.Cause(ctx)); f != nil {
		return f
	}
	return fault.Invalid(fault.Violation{Code: fault.Format, Message: "The client closed the connection before the response."}).WithCause(err)
}

// logUndelivered logs an error that occurred after a part of the response was sent: it can
// no longer be sent to the client. An error of the connection is logged at debug level,
// because the client caused it.
func logUndelivered(ctx context.Context, x *Exchange, err error) {
	level := slog.LevelError
	var network *net.OpError
	if ctx.Err() != nil || errors.Is(err, wire.ErrSlow) || errors.As(err, &network) {
		level = slog.LevelDebug
	}
	x.log.Log(ctx, level, "cannot send the response", "request_id", x.RequestID, "error", err.Error())
}

// writeEnvelope writes a fault with a status that may differ from the status of its code.
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
	// A failed write cannot be reported: the status is sent already.
	_ = json.NewEncoder(w).Encode(body)
}

func violations(vs []fault.Violation) []api.Violation {
	list := make([]api.Violation, len(vs))
	for i, v := range vs {
		list[i] = api.Violation{Param: v.Param, Code: api.ViolationCode(v.Code), Message: v.Message}
	}
	return list
}

// AsFault returns the fault that a caller sees for an error.
func AsFault(ctx context.Context, err error) *fault.Fault {
	if f := fault.Of(err); f != nil {
		return f
	}
	if errors.Is(err, eventstore.ErrUnknownEvent) {
		// A node of the newer release can read it.
		return fault.New(fault.DBUnavailable, "").WithRetryAfter(1).WithCause(err)
	}
	silent := errors.Is(err, context.DeadlineExceeded) && eventstore.PatienceOf(ctx).Over()
	if silent || databaseLost(err) {
		return fault.New(fault.DBUnavailable, "").WithCause(err)
	}
	return fault.New(fault.InternalError, "").WithCause(err)
}

// sqlUnavailable lists the SQLSTATE classes of a server that is unavailable: connection
// exception, insufficient resources, operator intervention.
var sqlUnavailable = []string{"08", "53", "57P"}

// databaseLost reports whether an error means that the database is unreachable. It does not
// depend on the driver.
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
	// A driver error that is safe to retry means that the connection broke before the query
	// was sent.
	var unsent interface{ SafeToRetry() bool }
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &unsent) && unsent.SafeToRetry()
}

// cause returns the text of an error for the log. The text of a fault leaves out its cause.
func cause(err error) string {
	if f := fault.Of(err); f != nil && f.Cause != nil {
		return f.Error() + ": " + f.Cause.Error()
	}
	return err.Error()
}
