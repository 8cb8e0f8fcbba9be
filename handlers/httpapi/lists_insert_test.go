package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/command"
)

// page reads one page of analyses.
func (c *client) page(query string) (ids []string, more bool) {
	c.w.t.Helper()
	got := c.do(http.MethodGet, "/v1/analyses?"+query, "")
	require.Equal(c.w.t, http.StatusOK, got.StatusCode, string(got.raw))
	for _, item := range got.at("data").([]any) {
		ids = append(ids, item.(map[string]any)["id"].(string))
	}
	return ids, got.at("has_more").(bool)
}

// TestPagingWhileOthersInsert pages in both directions while three clients create analyses,
// which are added to the front of the list. Backward in time, a reader gets each analysis that
// existed at its start once. Forward, it gets each new one once. has_more is false only at the
// end.
func TestPagingWhileOthersInsert(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.tester()
	const before, writers, each = 30, 3, 25
	// Send commands instead of requests: the rate limit of a key would end the test.
	caller := command.Caller{AccountID: c.key.AccountID, KeyID: c.key.KeyID, RequestID: "req_test"}
	create := func(ctx context.Context, i int) error {
		prompt := fmt.Sprintf("Is there a ball number %d?", i)
		_, err := w.service.CreateAnalysis(ctx, caller, command.CreateAnalysis{VideoID: c.key.FixtureVideoID, Prompt: &prompt})
		return err
	}
	for i := range before {
		require.NoError(t, create(t.Context(), i))
	}
	there, more := c.page("limit=100")
	require.Len(t, there, before)
	require.False(t, more)

	failures := make(chan error, writers*each)
	var inserting sync.WaitGroup
	for writer := range writers {
		inserting.Go(func() {
			for i := range each {
				if err := create(context.WithoutCancel(t.Context()), 1000*writer+i); err != nil {
					failures <- err
				}
			}
		})
	}
	// Backward in time, from the newest analysis at the start.
	var seen []string
	for cursor, more := there[0], true; more; cursor = seen[len(seen)-1] {
		var ids []string
		ids, more = c.page("limit=4&starting_after=" + cursor)
		require.NotEmpty(t, ids, "has_more was true and the page is empty")
		seen = append(seen, ids...)
	}
	require.Equal(t, there[1:], seen, "each analysis that existed at the start, once")

	// Forward, from the oldest analysis, until the writers are done and nothing is left.
	forward, cursor := []string{}, there[before-1]
	for done := false; ; {
		ids, more := c.page("limit=7&ending_before=" + cursor)
		if len(ids) > 0 {
			newestLast := slices.Clone(ids)
			slices.Reverse(newestLast)
			forward, cursor = append(forward, newestLast...), ids[0]
		}
		if more {
			require.Len(t, ids, 7, "a page with has_more is full")
			continue
		}
		if done {
			break
		}
		inserting.Wait()
		done = true
	}
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	var all []string
	for cursor, more := "", true; more; cursor = "&starting_after=" + all[len(all)-1] {
		var ids []string
		ids, more = c.page("limit=50" + cursor)
		all = append(all, ids...)
	}
	require.Len(t, all, before+writers*each)
	oldestFirst := slices.Clone(all)
	slices.Reverse(oldestFirst)
	require.Equal(t, oldestFirst[1:], forward, "each new analysis, once, in order")
}
