package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/eventstore"
	"vqa/handlers/command"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
)

func streamOf(videoID string) eventstore.StreamID {
	return eventstore.StreamID{Category: "video", ID: videoID}
}

// TestSlowFetchesOfOneAccountKeepNobodyWaiting registers many URLs whose server never
// answers, and then one of another account. It compares the order of the requests at the
// server, not their times.
func TestSlowFetchesOfOneAccountKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan string, 100), make(chan struct{})
	w, url := newOrigin(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Query().Get("of")
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	key, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, Operator: "test"})
	require.NoError(t, err)
	other := command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid}
	_, client := w.sweeper(t)
	register := func(of string, caller command.Caller) {
		target := url + "?of=" + of
		v, err := w.CreateVideo(t.Context(), caller, command.CreateVideo{URL: &target})
		require.NoError(t, err)
		require.NoError(t, client.Fetch(t.Context(), command.Fetch{AccountID: caller.AccountID, VideoID: v.ID, URL: target, Attempt: 1}))
	}
	for range 40 {
		register("slow", w.caller)
	}
	register("other", other)
	gone := objects.VideoKey("video_gone")
	w.put(t, gone, []byte("waste"))
	require.NoError(t, client.RemoveVideo(t.Context(), command.Removal{AccountID: w.caller.AccountID, VideoID: "video_gone", Key: gone, Attempt: 1}))

	w.work(t, client)
	slow := 0
	for came := ""; came != "other"; {
		select {
		case came = <-arrived:
			if came == "slow" {
				slow++
			}
		case <-time.After(patience):
			require.FailNow(t, "the other account waits behind the slow servers", "%d slow ones arrived", slow)
		}
	}
	require.LessOrEqual(t, slow, 2, "an account has only its share")
	require.Eventually(t, func() bool {
		_, err := w.objects.Stat(t.Context(), gone)
		return err != nil
	}, patience, 20*time.Millisecond, "removals do not wait for fetches")
	require.Equal(t, 41, len(w.attempts(t, "fetch")), "a snoozed fetch is still the first attempt")
}

func TestFirstFetchesGoBeforeABacklog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := "https://example.com/a.mp4"
	client, err := jobs.New(jobs.Options{
		Pool: w.pool, Analyses: 1, Objects: w.objects, Line: w.resources, Log: w.log, Backlog: w.resources.UnfinishedFetches,
		Analyzer: w.analyzer(nil), Fetcher: w.fetcher(),
	})
	require.NoError(t, err)
	key, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, Operator: "test"})
	require.NoError(t, err)
	fetch := func(accountID string) {
		caller := w.caller
		caller.AccountID = accountID
		v, err := w.CreateVideo(t.Context(), caller, command.CreateVideo{URL: &url})
		require.NoError(t, err)
		require.NoError(t, client.Fetch(t.Context(), command.Fetch{AccountID: accountID, VideoID: v.ID, URL: url, Attempt: 1}))
	}
	for range 40 {
		fetch(w.caller.AccountID)
	}
	fetch(key.AccountID)
	rows, err := w.pool.Query(t.Context(), "select priority, count(*) from river_job where kind = 'fetch' group by priority order by priority")
	require.NoError(t, err)
	defer rows.Close()
	ranks := map[int]int{}
	for rows.Next() {
		var priority, n int
		require.NoError(t, rows.Scan(&priority, &n))
		ranks[priority] = n
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[int]int{1: 3, 2: 6, 3: 24, 4: 8}, ranks)
}
