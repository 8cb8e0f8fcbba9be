package storetest

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// WatchMemory returns a function that returns the peak resident memory of this process since then, in megabytes.
// It works on Linux.
func WatchMemory(tb testing.TB) (peak func() float64) {
	tb.Helper()
	ctx, stop := context.WithCancel(tb.Context())
	found := make(chan float64, 1)
	go func() {
		most := 0.0
		for ctx.Err() == nil {
			most = max(most, residentMB(tb))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		found <- most
	}()
	return func() float64 {
		stop()
		return <-found
	}
}

func residentMB(tb testing.TB) float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Error(err)
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		tb.Error(err)
	}
	return float64(pages) * float64(os.Getpagesize()) / 1e6
}
