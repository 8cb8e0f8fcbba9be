package httpapi

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

// quiet returns a stream for the virtual time of synctest.
func quiet(x *edge.Exchange, next func(*eventWriter) (step, error)) (eventStream, *httptest.ResponseRecorder) {
	o := Options{
		Wake: func() (<-chan struct{}, func()) { return nil, func() {} }, Log: slog.New(slog.DiscardHandler),
		Streams: StreamTimes{Life: streamLife, Check: credentialCheck},
	}
	return eventStream{server: &server{Options: o}, ctx: context.Background(), exchange: x, next: next}, httptest.NewRecorder()
}

func silent(*eventWriter) (step, error) { return wait, nil }

func TestAStreamLastsFifteenMinutesAndIsCheckedEveryThirtySeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		st, w := quiet(&edge.Exchange{Recheck: func(context.Context) error { checks++; return nil }}, silent)
		begin := time.Now()
		require.NoError(t, st.visit(w))
		require.WithinDuration(t, begin.Add(15*time.Minute), time.Now(), time.Second)
		require.InDelta(t, 30, checks, 1)
		require.Contains(t, w.Body.String(), ": heartbeat\n\n")
		require.Contains(t, w.Body.String(), ": This stream ends after 15m0s.")
	})
}

func TestAStreamEndsThirtySecondsAfterItsCredential(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*eventWriter) (step, error){
		"quiet": silent,
		"busy":  func(*eventWriter) (step, error) { time.Sleep(time.Second); return again, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				revoked := time.Now().Add(100 * time.Second)
				st, w := quiet(&edge.Exchange{Recheck: func(context.Context) error {
					if time.Now().Before(revoked) {
						return nil
					}
					return fault.New(fault.KeyRevoked, "")
				}}, next)
				require.NoError(t, st.visit(w))
				require.LessOrEqual(t, time.Since(revoked), 45*time.Second)
				require.Contains(t, w.Body.String(), `event: end`+"\n"+`data: {"code":"key_revoked","message":"This API key was revoked. Use another key of the account."}`)
			})
		})
	}
}
