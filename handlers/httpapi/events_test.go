package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections/public"
)

// unanswerable is a prompt that is completed at once, without an engine.
const unanswerable = "What is the meaning of this film?"

// items returns the items of a list.
func (r response) items() []map[string]any {
	list, _ := r.at("data").([]any)
	out := make([]map[string]any, len(list))
	for i, item := range list {
		out[i] = item.(map[string]any)
	}
	return out
}

// ids returns the ids of the items of a list. Items with signed URLs differ on every read.
func (r response) ids() []string {
	var out []string
	for _, item := range r.items() {
		out = append(out, item["id"].(string))
	}
	return out
}

func TestEventsHaveTheStateAfterThem(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	asWas := c.do(http.MethodGet, "/v1/videos/"+videoID, "").json
	analysisID := c.ask(videoID, "Is there a dog?")
	canceled := c.do(http.MethodPost, "/v1/analyses/"+analysisID+"/cancel", "").json
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/videos/"+videoID, "").StatusCode)

	list := c.do(http.MethodGet, "/v1/events", "")
	require.Equal(t, false, list.at("has_more"))
	events := list.items()
	require.Len(t, events, 2)
	cancel, ready := events[0], events[1]
	require.Equal(t, "analysis.canceled", cancel["type"])
	require.Empty(t, cmp.Diff(canceled, cancel["data"]), "the body of a read")
	require.Equal(t, canceled["completed_at"], cancel["created_at"])
	require.Equal(t, "video.ready", ready["type"])
	require.EqualValues(t, 2, ready["sequence"])
	require.Equal(t, true, ready["livemode"])
	data := ready["data"].(map[string]any)
	require.NotEmpty(t, data["media"].(map[string]any)["url"])
	delete(data, "media")
	delete(asWas, "media")
	require.Empty(t, cmp.Diff(asWas, data), "the event of a deleted video keeps its data")

	one := c.do(http.MethodGet, "/v1/events/"+cancel["id"].(string), "")
	require.Empty(t, cmp.Diff(cancel, one.json))
	require.Equal(t, []map[string]any{cancel}, c.do(http.MethodGet, "/v1/events?type=analysis.canceled", "").items())
	require.Equal(t, []map[string]any{cancel}, c.do(http.MethodGet, "/v1/events?resource_id="+analysisID, "").items())
	require.Empty(t, c.do(http.MethodGet, "/v1/events?type=stream.ended", "").items())
}

func TestEventsPageAsAllListsDo(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	for range 4 {
		c.ask(videoID, unanswerable)
	}
	all := c.do(http.MethodGet, "/v1/events", "").ids()
	require.Len(t, all, 5)
	first := c.do(http.MethodGet, "/v1/events?limit=2", "")
	require.Equal(t, true, first.at("has_more"))
	require.Equal(t, all[:2], first.ids())
	rest := c.do(http.MethodGet, fmt.Sprintf("/v1/events?limit=3&starting_after=%s", all[1]), "")
	require.Equal(t, false, rest.at("has_more"))
	require.Equal(t, all[2:], rest.ids())
	// From the first event on: the oldest page first, and the newest event of a page first.
	oldest := c.do(http.MethodGet, "/v1/events?limit=2&ending_before="+public.Beginning, "")
	require.Equal(t, true, oldest.at("has_more"))
	require.Equal(t, all[3:], oldest.ids())

	w.refused(c.do(http.MethodGet, "/v1/events?type=video.deleted", ""), 400, fault.ValidationFailed, "type")
	w.refused(c.do(http.MethodGet, "/v1/events?resource_id=acct_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1D", ""), 400, fault.ValidationFailed, "resource_id")
	w.refused(c.do(http.MethodGet, "/v1/events?starting_after="+videoID, ""), 400, fault.ValidationFailed, "starting_after")
	stranger := w.customer(100)
	foreign := all[0]
	w.refused(stranger.do(http.MethodGet, "/v1/events?starting_after="+foreign, ""), 404, fault.ResourceNotFound, "")
	w.refused(stranger.do(http.MethodGet, "/v1/events/"+foreign, ""), 404, fault.ResourceNotFound, "")
	w.refused(stranger.do(http.MethodGet, "/v1/events/stream", "", "Last-Event-ID", foreign), 404, fault.ResourceNotFound, "")
	w.refused(stranger.do(http.MethodGet, "/v1/events/stream", "", "Last-Event-ID", "7"), 400, fault.ValidationFailed, "Last-Event-ID")
	require.Empty(t, stranger.do(http.MethodGet, "/v1/events?resource_id="+videoID, "").items())
}

// following is an open stream of events.
type following struct {
	t      *testing.T
	lines  *bufio.Scanner
	close  func()
	header http.Header
	// last is the id that a client would send as Last-Event-ID.
	last string
}

func (c *client) follow(last string) *following {
	c.w.t.Helper()
	ctx, cancel := context.WithCancel(c.w.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.w.url+"/v1/events/stream", nil)
	require.NoError(c.w.t, err)
	r.Header.Set("Authorization", "Bearer "+c.key.Secret)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(c.w.t, err)
	require.Equal(c.w.t, http.StatusOK, got.StatusCode)
	c.w.t.Cleanup(func() { cancel(); _ = got.Body.Close() })
	f := &following{t: c.w.t, lines: bufio.NewScanner(got.Body), header: got.Header, close: cancel}
	f.lines.Buffer(nil, 1<<20)
	f.read() // the id before the first event
	require.Regexp(c.w.t, "^evt_", f.last)
	return f
}

// read returns the next block of lines: an event, or only an id.
func (f *following) read() (kind string, data map[string]any) {
	f.t.Helper()
	for f.lines.Scan() {
		field, value, _ := strings.Cut(f.lines.Text(), ": ")
		switch field {
		case "id":
			f.last = value
		case "event":
			kind = value
		case "data":
			require.NoError(f.t, json.Unmarshal([]byte(value), &data))
		case "":
			if f.last != "" {
				return kind, data
			}
		}
	}
	f.t.Errorf("the stream ended: %v", f.lines.Err())
	f.t.FailNow()
	return "", nil
}

func TestStreamBeginsWithWhatHappensFromNowOn(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	fresh := c.follow("")
	require.Equal(t, public.Beginning, fresh.last)
	require.Equal(t, "text/event-stream", fresh.header.Get("Content-Type"))
	fresh.close() // before the first event
	videoID := c.ready()
	missed := c.follow(fresh.last)
	kind, data := missed.read()
	require.Equal(t, "video.ready", kind)
	require.Equal(t, missed.last, data["id"])
	require.Empty(t, cmp.Diff(c.do(http.MethodGet, "/v1/events/"+missed.last, "").at("data.id"), videoID))

	later := c.follow("")
	require.Equal(t, missed.last, later.last)
	analysisID := c.ask(videoID, unanswerable)
	w.wake()
	kind, data = later.read()
	require.Equal(t, "analysis.completed", kind)
	require.Equal(t, analysisID, data["data"].(map[string]any)["id"])
}

func TestStreamsOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	w := open(t)
	c, other := w.customer(0), w.customer(0)
	var streams []*following
	for range 20 {
		streams = append(streams, c.follow(""))
	}
	refused := c.do(http.MethodGet, "/v1/events/stream", "")
	w.refused(refused, 429, fault.ConcurrencyLimitExceeded, "")
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	other.follow("")
	streams[0].close()
	require.Eventually(t, func() bool { return w.waiting() == 20 }, 10*time.Second, time.Millisecond, "a closed stream is not counted")
	c.follow("")
}

// late writes a ready video in a transaction that stays open.
func (c *client) late() (commit func()) {
	t, ids := c.w.t, c.w.service.IDs
	tx, err := c.w.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	videoID, at := ids.New(id.Video), c.w.now()
	write := eventstore.Write{Stream: fold.Video.Stream(videoID)}
	for _, e := range []eventstore.Event{
		video.Registered{VideoID: videoID, AccountID: c.key.AccountID, Livemode: true, Source: video.SourceUpload, At: at},
		video.Ready{VideoID: videoID, File: video.File{ContentType: "video/mp4", SizeBytes: 1}, At: at},
	} {
		write.Events = append(write.Events, eventstore.NewEvent{Event: e, Meta: eventstore.Meta{AccountID: c.key.AccountID}})
	}
	encoded, err := codec.Events().Encode(eventstore.Batch{Writes: []eventstore.Write{write}})
	require.NoError(t, err)
	for _, e := range encoded {
		_, err := tx.Exec(t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
			values ($1, $2, $3, $4, $5, $6, $7)`, e.Stream.String(), e.Version, e.Type, e.AccountID, e.Data, e.Meta, e.Chain[:])
		require.NoError(t, err)
	}
	return func() { require.NoError(t, tx.Commit(t.Context())) }
}

// TestStreamMissesNothingAcrossReconnects has writers on many connections, one of which writes
// first and commits last, and a reader that loses its connection many times.
func TestStreamMissesNothingAcrossReconnects(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	commit := c.late()
	const writers, each = 4, 6
	body := fmt.Sprintf(`{"video_id": %q, "prompt": %q}`, videoID, unanswerable)
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				if got := c.do(http.MethodPost, "/v1/analyses", body); got.StatusCode != http.StatusAccepted {
					t.Errorf("%d %s", got.StatusCode, got.raw)
				}
				w.wake()
			}
		})
	}
	go func() { writing.Wait(); commit(); w.wake() }()

	var seen []string
	last := public.Beginning
	for len(seen) < 2+writers*each {
		f := c.follow(last)
		for range min(3, 2+writers*each-len(seen)) {
			_, data := f.read()
			require.Equal(t, f.last, data["id"])
			seen = append(seen, f.last)
		}
		last = f.last
		f.close()
	}
	listed := c.do(http.MethodGet, "/v1/events?limit=100", "").ids()
	slices.Reverse(listed)
	require.Equal(t, listed, seen, "every event once, in the order of the log")
}
