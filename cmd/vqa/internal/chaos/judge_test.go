package chaos_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// judge checks what must hold when everything works again. It blames each broken promise.
func judge(t *testing.T, ctx context.Context, w *world, r *records, customers []*customer) {
	t.Helper()
	for _, c := range customers {
		require.NoError(t, c.settle(ctx))
	}
	db, err := pgx.Connect(ctx, w.databaseURL)
	require.NoError(t, err)
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	judgeLeftovers(t, ctx, db, w, r, customers)
	for _, tool := range [][]string{{"ledger", "verify"}, {"projections", "verify", "--all"}, {"doctor"}} {
		if _, err := w.tool(t, tool...); err != nil {
			r.blame("%v", err)
		}
	}
	for i, n := range w.nodes {
		if text, err := os.ReadFile(n.log.Name()); err != nil || strings.Contains(string(text), "\npanic: ") || strings.Contains(string(text), "\nfatal error: ") {
			r.blame("node %d crashed: see %s", i+1, n.log.Name())
		}
	}
}

// settle compares the state of the service with the responses that the customer got.
func (c *customer) settle(ctx context.Context) error {
	if err := c.judgeAnalyses(ctx); err != nil {
		return err
	}
	if err := c.judgeLists(ctx); err != nil {
		return err
	}
	for _, secret := range c.revoked {
		got, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/credits?limit=1", key: secret})
		if err != nil {
			return err
		}
		c.expects("use a revoked key", got, http.StatusUnauthorized)
	}
	return c.judgeFeed(ctx)
}

// judgeAnalyses waits for the end of each analysis, and compares its answer and its bill.
func (c *customer) judgeAnalyses(ctx context.Context) error {
	billed := map[string]float64{}
	for _, a := range c.analyses {
		var got response
		for {
			var err error
			if got, err = c.send(ctx, http.MethodGet, "/v1/analyses/"+a.id, nil, ""); err != nil {
				return fmt.Errorf("%s does not end: %w", a.id, err)
			}
			if !c.expects("read "+a.id, got, http.StatusOK) || hasEnded(got.text("status")) {
				break
			}
			if err := until(ctx, time.Now().Add(time.Second)); err != nil {
				return fmt.Errorf("%s does not end: %s", a.id, got.raw)
			}
		}
		switch status := got.text("status"); {
		case status == "failed": // only the service could be the reason
			c.records.blame("customer %d: %s failed: %s", c.number, a.id, got.raw)
		case status == "canceled" && !a.cancelAsked, status == "completed" && a.canceled:
			c.records.blame("customer %d: %s: canceled is %v: %s", c.number, a.id, a.canceled, got.raw)
		case status == "completed":
			billed[a.id] = a.seconds
			if got.text("result.answer") != a.answer || number(got.doc, "usage.billed_seconds") != a.seconds {
				c.records.blame("customer %d: %s must answer %s and bill %v: %s", c.number, a.id, a.answer, a.seconds, got.raw)
			}
		}
	}
	return c.judgeLedger(ctx, billed)
}

// judgeLedger compares the debits of the account with what must be billed.
func (c *customer) judgeLedger(ctx context.Context, billed map[string]float64) error {
	total := 0.0
	for _, seconds := range billed {
		total += seconds
	}
	left := billed
	err := c.pages(ctx, "/v1/credits", "transactions", func(_ response, txn any) {
		if text(txn, "kind") != "analysis_debit" {
			return
		}
		id := text(txn, "source_id")
		if want, ok := left[id]; !ok || want != -number(txn, "seconds_delta") {
			c.records.blame("customer %d: debit of %v seconds for %s, of which %v are due", c.number, -number(txn, "seconds_delta"), id, want)
		}
		delete(left, id)
	}, func(first response) {
		if number(first.doc, "balance_seconds") != grantSeconds-total || number(first.doc, "held_seconds") != 0 {
			c.records.blame("customer %d: balance and holds are %v and %v, must be %v and 0", c.number,
				number(first.doc, "balance_seconds"), number(first.doc, "held_seconds"), grantSeconds-total)
		}
	})
	if len(left) > 0 {
		c.records.blame("customer %d: not billed: %v", c.number, left)
	}
	return err
}

// judgeLists checks that each create exists once, and that nothing else exists.
func (c *customer) judgeLists(ctx context.Context) error {
	for path, wanted := range map[string]map[string]bool{"/v1/videos": c.videoIDs(), "/v1/analyses": c.analysisIDs(), "/v1/api-keys": c.keyIDs()} {
		err := c.pages(ctx, path, "data", func(_ response, item any) {
			if id := text(item, "id"); !wanted[id] {
				c.records.blame("customer %d: %s has %s, which was not created or is there twice", c.number, path, id)
			} else {
				delete(wanted, id)
			}
		}, nil)
		if err != nil {
			return err
		}
		if len(wanted) > 0 {
			c.records.blame("customer %d: %s lacks %v", c.number, path, wanted)
		}
	}
	return nil
}

func (c *customer) videoIDs() map[string]bool {
	ids := map[string]bool{}
	for _, v := range c.videos {
		if !v.deleted {
			ids[v.id] = true
		}
	}
	return ids
}

func (c *customer) analysisIDs() map[string]bool {
	ids := map[string]bool{}
	for _, a := range c.analyses {
		ids[a.id] = true
	}
	return ids
}

func (c *customer) keyIDs() map[string]bool {
	ids := map[string]bool{}
	for id := range c.keys {
		ids[id] = true
	}
	return ids
}

// pages reads a list to its end.
func (c *customer) pages(ctx context.Context, path, member string, each func(response, any), first func(response)) error {
	cursor := ""
	for {
		got, err := c.send(ctx, http.MethodGet, path+"?limit=100"+cursor, nil, "")
		if err != nil || !c.expects("list "+path, got, http.StatusOK) {
			return err
		}
		if first != nil && cursor == "" {
			first(got)
		}
		list, _ := got.at(member).([]any)
		for _, item := range list {
			each(got, item)
		}
		if more, _ := got.at("has_more").(bool); !more || len(list) == 0 {
			return nil
		}
		cursor = "&starting_after=" + text(list[len(list)-1], "id")
	}
}

// judgeFeed compares what the cursor has read with the whole feed, and with the resources. The last
// events may take a moment.
func (c *customer) judgeFeed(ctx context.Context) error {
	wanted := map[string]int{}
	for _, v := range c.videos {
		wanted[v.id] = 1 // video.ready
	}
	for _, a := range c.analyses {
		wanted[a.id] = 1 // the end
	}
	for deadline := time.Now().Add(time.Minute); len(c.watcher.events) < len(wanted) && time.Now().Before(deadline); {
		if err := c.watcher.catchUp(ctx); err != nil {
			return err
		}
		if err := until(ctx, time.Now().Add(500*time.Millisecond)); err != nil {
			return err
		}
	}
	for _, body := range c.watcher.bodies {
		wanted[text(body, "data.id")]--
	}
	for id, missing := range wanted {
		if missing != 0 {
			c.records.blame("customer %d: the feed lacks %d events of %s", c.number, missing, id)
		}
	}
	var all []string
	err := c.pages(ctx, "/v1/events", "data", func(_ response, e any) { all = append(all, text(e, "id")) }, nil)
	slices.Reverse(all)
	if err == nil && !slices.Equal(all, c.watcher.events) {
		c.records.blame("customer %d: the cursor read %d events and the feed has %d, or in another order", c.number, len(c.watcher.events), len(all))
	}
	return err
}

var videoName = regexp.MustCompile(`video_[0-9A-HJKMNP-TV-Z]{26}`)

// judgeLeftovers waits until the bytes of deleted videos are gone, and checks that nothing is left
// over: holds, parked events, discarded jobs and files.
func judgeLeftovers(t *testing.T, ctx context.Context, db *pgx.Conn, w *world, r *records, customers []*customer) {
	t.Helper()
	kept := map[string]bool{}
	var deleted []string
	for _, c := range customers {
		for _, v := range c.videos {
			if kept[v.id] = !v.deleted; v.deleted {
				deleted = append(deleted, "video/"+v.id)
			}
		}
	}
	patience, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	count := func(query string, args ...any) (n int) {
		require.NoError(t, db.QueryRow(ctx, query, args...).Scan(&n), query)
		return n
	}
	for count("select count(*) from events where type = 'video.purged' and stream = any($1)", deleted) < len(deleted) && until(patience, time.Now().Add(time.Second)) == nil {
	}
	for what, query := range map[string]string{
		"deleted videos without video.purged": "select count(*) from unnest($1::text[]) s where not exists (select 1 from events where stream = s and type = 'video.purged')",
		"deleted videos purged twice":         "select count(*) from (select stream from events where type = 'video.purged' and stream = any($1) group by 1 having count(*) > 1) s",
		"parked events":                       "select count(*) from parked where $1::text[] is not null",
		"discarded jobs":                      "select count(*) from river_job where state = 'discarded' and $1::text[] is not null",
		"leases of living nodes beyond three": "select greatest(count(*) - 3, 0) from living_nodes where $1::text[] is not null",
	} {
		if n := count(query, deleted); n > 0 {
			r.blame("%s: %d", what, n)
		}
	}
	for _, path := range strays(patience, w, kept) {
		r.blame("left over in the object store: %s", path)
	}
}

// strays lists the files of the object store that belong to no video, and unfinished ones. The sweep
// gets time to remove them.
func strays(patience context.Context, w *world, kept map[string]bool) (left []string) {
	for {
		left = nil
		_ = filepath.WalkDir(filepath.Join(w.dataDir(), "objects"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".closed") {
				return nil //nolint:nilerr // it may be deleted meanwhile
			}
			if id := videoName.FindString(path); strings.HasSuffix(path, ".tmp") || id != "" && !kept[id] {
				left = append(left, path)
			}
			return nil
		})
		if len(left) == 0 || until(patience, time.Now().Add(time.Second)) != nil {
			return left
		}
	}
}
