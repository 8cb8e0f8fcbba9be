package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// takeover is an analysis that another node took over.
type takeover struct {
	fault kind
	after time.Duration // since the begin of the fault
}

var nodeJoined = regexp.MustCompile(`time=(\S+) level=INFO msg="this process is a node" node=(node_[0-9A-Z]+)`)

// takeovers finds in the log the analyses that another node took over from a node that was lost. The
// clock of the database is the one of this machine.
func (w *world) takeovers(ctx context.Context, spells []spell) (taken []takeover, err error) {
	type process struct {
		node  int
		since time.Time
	}
	index := map[string]process{} // by the name of the process in the log
	for i, n := range w.nodes {
		text, err := os.ReadFile(n.log.Name())
		if err != nil {
			return nil, err
		}
		for _, found := range nodeJoined.FindAllSubmatch(text, -1) {
			since, err := time.Parse(time.RFC3339Nano, string(found[1]))
			if err != nil {
				return nil, err
			}
			index[string(found[2])] = process{i, since}
		}
	}
	db, err := pgx.Connect(ctx, w.databaseURL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	rows, err := db.Query(ctx, `select recorded_at, before from (
		select recorded_at, type, lag(split_part(data->>'worker', '@', 1)) over (partition by stream order by position) as before
		  from events where type in ('analysis.started', 'analysis.reclaimed')) e
		where type = 'analysis.reclaimed' order by recorded_at`)
	if err != nil {
		return nil, err
	}
	var at time.Time
	var before string
	_, err = pgx.ForEachRow(rows, []any{&at, &before}, func() error {
		lost, known := index[before]
		for _, s := range spells {
			if known && s.kind.losesNode() && s.node == lost.node && lost.since.Before(s.began) && at.After(s.began) && at.Before(s.healed) {
				taken = append(taken, takeover{s.kind, at.Sub(s.began)})
			}
		}
		return nil
	})
	return taken, err
}

// summary has the figures of a run.
type summary struct {
	text   string
	began  time.Time
	spells []spell
	r      *records
}

func summarize(began time.Time, spells []spell, r *records, taken []takeover) summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.samples, func(a, b sample) int { return a.ended.Compare(b.ended) })
	var b strings.Builder
	fmt.Fprintf(&b, "\n| fault | times | requests | refused | lost | p99 of reads | p99 of writes | none served for | longest request with repeats | taken over | after |\n")
	fmt.Fprintf(&b, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	line := func(name string, times int, hit func(time.Time) bool, gap time.Duration, longest time.Duration, taken []time.Duration) {
		var reads, writes []time.Duration
		var counts [3]int
		for _, s := range r.samples {
			if !hit(s.ended) {
				continue
			}
			counts[s.outcome]++
			if s.outcome == served && s.write {
				writes = append(writes, s.took)
			} else if s.outcome == served {
				reads = append(reads, s.took)
			}
		}
		after := "-"
		if len(taken) > 0 {
			after = fmt.Sprintf("%.0f to %.0f s", slices.Min(taken).Seconds(), slices.Max(taken).Seconds())
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s | %s | %.1f s | %.1f s | %d | %s |\n", name, times, counts[0]+counts[1]+counts[2],
			counts[refused], counts[lost], millis(quantile(reads, 0.99)), millis(quantile(writes, 0.99)), gap.Seconds(), longest.Seconds(), len(taken), after)
	}
	during := func(at time.Time, k kind) bool {
		return slices.ContainsFunc(spells, func(s spell) bool { return s.kind == k && !at.Before(s.began) && !at.After(s.healed) })
	}
	for k := range kinds {
		var times int
		var gap, longest time.Duration
		for _, s := range spells {
			if s.kind == k {
				times++
				gap, longest = max(gap, longestGap(r.samples, s.began, s.healed)), max(longest, longestWait(r.waits, s.began, s.healed))
			}
		}
		var after []time.Duration
		for _, t := range taken {
			if t.fault == k {
				after = append(after, t.after)
			}
		}
		line(k.String(), times, func(at time.Time) bool { return during(at, k) }, gap, longest, after)
	}
	ended := began
	for _, s := range spells {
		if s.healed.After(ended) {
			ended = s.healed
		}
	}
	calm := func(at time.Time) bool {
		return at.Before(ended) && !slices.ContainsFunc(spells, func(s spell) bool { return !at.Before(s.began) && at.Before(s.healed.Add(5*time.Second)) })
	}
	line("none", 0, calm, 0, 0, nil)
	line("whole run", len(spells), func(time.Time) bool { return true }, longestGap(r.samples, began, ended), longestWait(r.waits, began, ended), nil)
	fmt.Fprintf(&b, "\noperations:")
	total := 0
	for a, n := range r.done {
		total += n
		fmt.Fprintf(&b, " %d %s,", n, actNames[a])
	}
	codes := map[string]int{}
	for _, s := range r.samples {
		if s.outcome == refused {
			codes[s.code]++
		}
	}
	fmt.Fprintf(&b, " %d in all; refusals: %v; broken promises: %d\n", total, codes, len(r.blames))
	return summary{b.String(), began, spells, r}
}

// longestGap is the longest time without a served request that touches the fault.
func longestGap(samples []sample, began, healed time.Time) (longest time.Duration) {
	var last time.Time
	for _, s := range samples {
		if s.outcome != served {
			continue
		}
		if !last.IsZero() && s.ended.After(began) && last.Before(healed) {
			longest = max(longest, s.ended.Sub(last))
		}
		last = s.ended
	}
	return longest
}

// longestWait is the longest time from a request to its definite answer, repeats included, among the
// requests that touch the fault.
func longestWait(waits []wait, began, healed time.Time) (longest time.Duration) {
	for _, w := range waits {
		if w.ended.After(began) && w.began.Before(healed) {
			longest = max(longest, w.ended.Sub(w.began))
		}
	}
	return longest
}

func quantile(of []time.Duration, q float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[min(len(of)-1, int(q*float64(len(of))))]
}

func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// save writes the figures and the picture.
func (s summary) save(folder string, seed uint64) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	path := filepath.Join(folder, fmt.Sprintf("chaos-%d", seed))
	if err := os.WriteFile(path+".md", []byte(s.text), 0o600); err != nil {
		return err
	}
	return s.draw(path + ".png")
}
