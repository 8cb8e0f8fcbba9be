package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/objects"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	full := fault.New(fault.CapacityExhausted, "").WithCause(&net.OpError{Op: "write", Err: syscall.ENOSPC})
	gone := fault.New(fault.CapacityExhausted, "").WithCause(&objects.UnavailableError{Err: errors.New("no folder")})
	for name, tt := range map[string]struct {
		err  error
		want class
	}{
		"engine away":                  {&gpu.UnavailableError{Err: errors.New("no answer")}, classEngine},
		"engine not ready":             {fault.New(fault.InferenceUnavailable, ""), classEngine},
		"engine refuses the input":     {&gpu.InferenceError{Err: errors.New("bad frame")}, classInput},
		"full disk":                    {full, classDisk},
		"full disk under a drawing":    {&drawError{full}, classDisk},
		"full disk told by ffmpeg":     {&drawError{errors.New("av_interleaved_write_frame(): No space left on device")}, classDisk},
		"disk that cannot be read":     {syscall.EIO, classDisk},
		"store gone":                   {gone, classObjects},
		"store gone under a drawing":   {&drawError{gone}, classObjects},
		"source that does not answer":  {fmt.Errorf("%w: timed out", frames.ErrUnreachable), classObjects},
		"unreadable video":             {&inputError{"broken"}, classInput},
		"video over the limit":         {&tooLongError{1}, classInput},
		"refused fetch":                {fault.New(fault.URLFetchFailed, ""), classInput},
		"server that hangs up":         {fault.New(fault.URLFetchFailed, "").WithCause(io.ErrUnexpectedEOF), classInput},
		"no vision model":              {&visionError{errNoVisionModel}, classInput},
		"busy node":                    {fault.New(fault.CapacityExhausted, ""), classCapacity},
		"database refuses connections": {&pgconn.PgError{Code: "57P03"}, classDatabase},
		"database without disk":        {&pgconn.PgError{Code: "53100"}, classDatabase},
		"read-only database":           {&pgconn.PgError{Code: "25006"}, classDatabase},
		"table without rights":         {&pgconn.PgError{Code: "42501"}, classDatabase},
		"wrong statement":              {&pgconn.PgError{Code: "42601"}, classBug},
		"broken connection":            {fmt.Errorf("append: %w", io.ErrUnexpectedEOF), classDatabase},
		"refused connection":           {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, classDatabase},
		"silent database":              {context.DeadlineExceeded, classDatabase},
		"rivals":                       {&eventstore.ConflictError{}, classDatabase},
		"anything else":                {errors.New("index out of range"), classBug},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, classify(tt.err))
			require.Equal(t, tt.want, classify(fmt.Errorf("analyze an_1: %w", tt.err)))
			paused := is[*pausedError](pausing(tt.err))
			require.Equal(t, tt.want != classInput && tt.want != classBug, paused)
		})
	}
	require.NoError(t, pausing(nil))
}

// TestBackoffLaw: a pause never exceeds the longest, is at least half of the shortest, and
// doubles at the same spread.
func TestBackoffLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, spread := rapid.IntRange(1, 1_000_000).Draw(t, "n"), rapid.Float64Range(0, 1).Draw(t, "spread")
		pause, next := backoff(n, spread), backoff(n+1, spread)
		require.LessOrEqual(t, pause, longestPause)
		require.GreaterOrEqual(t, pause, firstPause/2)
		require.InDelta(t, min(2*pause, backoff(100, spread)), next, 2)
	})
	rapid.Check(t, func(t *rapid.T) {
		spread := spreadOf(rapid.String().Draw(t, "id"), rapid.Int().Draw(t, "attempt"))
		require.GreaterOrEqual(t, spread, 0.0)
		require.LessOrEqual(t, spread, 1.0)
	})
}

func TestResting(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.False(t, jobHistory{}.resting("an_1", now), "work without an attempt does not rest")
	k := jobHistory{last: 3, paused: 2, lost: 1, endedAt: now}
	pause := backoff(3, spreadOf("an_1", 3))
	require.True(t, k.resting("an_1", now.Add(pause-1)))
	require.False(t, k.resting("an_1", now.Add(pause)))
	require.False(t, k.resting("an_1", now.Add(-time.Hour)), "another clock does not stop the work")
}

// TestForgottenJobs: a job that the table records as running, and that this node does not run,
// is given up after a while.
func TestForgottenJobs(t *testing.T) {
	t.Parallel()
	r := newRuns()
	now := time.Now()
	leave := r.enter(1)
	require.False(t, r.forgotten(1, now.Add(time.Hour)), "it runs")
	require.False(t, r.forgotten(2, now), "River may be about to start it")
	require.False(t, r.forgotten(2, now.Add(idleFor-1)))
	require.True(t, r.forgotten(2, now.Add(idleFor)))
	defer r.enter(2)()
	require.False(t, r.forgotten(2, now.Add(idleFor)), "it was started late")
	leave()
	require.False(t, r.forgotten(1, now), "River may be about to record its end")
	for job := range int64(2 * maxIdle) {
		r.forgotten(100+job, now)
	}
	require.LessOrEqual(t, len(r.idle), maxIdle)
}
