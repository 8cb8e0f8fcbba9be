package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
)

// written returns the response of WriteError to an error, and its log.
func written(t *testing.T, err error) (*httptest.ResponseRecorder, api.Error, string) {
	t.Helper()
	var logged bytes.Buffer
	x := &Exchange{RequestID: "req_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", log: slog.New(slog.NewTextHandler(&logged, nil))}
	r := httptest.NewRequest(http.MethodGet, "/v1/videos", nil)
	w := httptest.NewRecorder()
	WriteError(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)), err)
	var body api.Error
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, x.RequestID, body.Error.RequestId)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, w.Code, body.Error.Status)
	return w, body, logged.String()
}

func TestEveryCodeIsWrittenWithItsStatus(t *testing.T) {
	t.Parallel()
	for _, entry := range fault.Registry() {
		t.Run(string(entry.Code), func(t *testing.T) {
			t.Parallel()
			w, body, _ := written(t, fmt.Errorf("deep inside: %w", fault.New(entry.Code, "")))
			want := entry
			if entry.Status == 0 {
				// Codes of failed resources are never HTTP responses.
				want = fault.Lookup(fault.InternalError)
			}
			require.Equal(t, want.Status, w.Code)
			require.Equal(t, string(want.Code), body.Error.Code)
			require.Equal(t, want.Message, body.Error.Message)
			retry, err := strconv.Atoi(w.Header().Get("Retry-After"))
			needed := want.Status == http.StatusTooManyRequests || want.Status == http.StatusServiceUnavailable
			require.Equal(t, needed, err == nil && retry >= 1, "Retry-After %q", w.Header().Get("Retry-After"))
			require.Equal(t, want.Status == http.StatusUnauthorized, w.Header().Get("WWW-Authenticate") == "Bearer")
		})
	}
}

func TestWriteErrorShowsTheMembersOfAFault(t *testing.T) {
	t.Parallel()
	f := fault.Invalid(fault.Violation{Param: "a", Code: fault.Range, Message: "m"}).WithParam("a").WithDetail("meter", "credit_seconds")
	_, body, _ := written(t, f)
	require.Equal(t, "a", *body.Error.Param)
	require.Equal(t, map[string]any{"meter": "credit_seconds"}, *body.Error.Details)
	require.Equal(t, []api.Violation{{Param: "a", Code: api.Range, Message: "m"}}, *body.Error.Errors)

	w, _, _ := written(t, fault.New(fault.CapacityExhausted, "").WithRetryAfter(17))
	require.Equal(t, "17", w.Header().Get("Retry-After"))
	w, _, _ = written(t, fault.New(fault.IdempotencyUnavailable, "").WithRetryAfter(1))
	require.Equal(t, "1", w.Header().Get("Retry-After"), "Retry-After is sent with any status")
}

func TestWriteErrorHidesCauses(t *testing.T) {
	t.Parallel()
	const secret = "password=hunter2"
	for name, err := range map[string]error{
		"an ordinary error": errors.New(secret),
		"a fault's cause":   fault.New(fault.DBUnavailable, "").WithCause(errors.New(secret)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, logged := written(t, err)
			require.NotContains(t, w.Body.String(), secret)
			require.Contains(t, logged, secret)
			require.Contains(t, logged, "req_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A")
		})
	}
}

// sqlError looks like the error of a driver.
type sqlError string

func (e sqlError) Error() string    { return "sql: " + string(e) }
func (e sqlError) SQLState() string { return string(e) }

func TestErrorsFromOutsideGetACode(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	tests := map[string]struct {
		err  error
		want fault.Code
	}{
		"connection refused":  {fmt.Errorf("query: %w", refused), fault.DBUnavailable},
		"connection cut":      {fmt.Errorf("query: %w", io.ErrUnexpectedEOF), fault.DBUnavailable},
		"server shut down":    {sqlError("57P01"), fault.DBUnavailable},
		"too many clients":    {sqlError("53300"), fault.DBUnavailable},
		"a bug in SQL":        {sqlError("42601"), fault.InternalError},
		"deadline":            {fmt.Errorf("query: %w", context.DeadlineExceeded), fault.InternalError},
		"deadline on dialing": {fmt.Errorf("%w: %w", refused, context.DeadlineExceeded), fault.InternalError},
		"anything":            {errors.New("surprise"), fault.InternalError},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, body, _ := written(t, tt.err)
			require.Equal(t, string(tt.want), body.Error.Code)
		})
	}
}
