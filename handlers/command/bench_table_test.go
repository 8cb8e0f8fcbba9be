package command

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
)

// benchRow has all rounds for one number of clients.
type benchRow struct {
	clients int
	rounds  []benchRound
}

// of returns the median, minimum and maximum of a figure over the rounds. Ratios are computed within each
// round first, so that a drift of the machine cancels out.
func (r benchRow) of(figure func(benchRound) float64) spread {
	values := make([]float64, len(r.rounds))
	for i, round := range r.rounds {
		values[i] = figure(round)
	}
	slices.Sort(values)
	n := len(values)
	return spread{median: (values[(n-1)/2] + values[n/2]) / 2, least: values[0], most: values[n-1]}
}

type spread struct{ median, least, most float64 }

func (s spread) rate() string  { return fmt.Sprintf("%.0f", s.median) }
func (s spread) ratio() string { return fmt.Sprintf("**%.2f** (%.2f-%.2f)", s.median, s.least, s.most) }

// The figures. A command is one event that is decided, projected and committed before the response. A pair
// is two commands.
func insertRate(r benchRound) float64    { return r.insert }
func hotUpdateRate(r benchRound) float64 { return r.hotUpdate }
func appendRate(r benchRound) float64    { return r.append }
func manyRate(r benchRound) float64      { return r.pairsMany }
func hotRate(r benchRound) float64       { return r.pairsOneHot }
func appendShare(r benchRound) float64   { return r.append / r.insert }
func manyShare(r benchRound) float64     { return 2 * r.pairsMany / r.insert }
func hotPairs(r benchRound) float64      { return r.pairsOneHot / r.hotUpdate }
func hotFourRate(r benchRound) float64   { return r.hotTransaction }
func hotFourPairs(r benchRound) float64  { return r.pairsOneHot / r.hotTransaction }

// report reports the medians to go test.
func (r benchRow) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // hide the time of a round, which has no meaning
	for unit, figure := range map[string]func(benchRound) float64{
		"inserts/s(ceiling)": insertRate, "appends/s": appendRate, "append-ratio": appendShare,
		"hot-updates/s(ceiling)": hotUpdateRate, "hot-pairs/s": hotRate, "hot-pair-ratio": hotPairs,
		"pairs/s": manyRate, "pair-command-ratio": manyShare,
	} {
		b.ReportMetric(r.of(figure).median, unit)
	}
}

// printBenchTables writes what docs/performance.md shows.
func printBenchTables(w io.Writer, machine string, rows []benchRow) {
	fmt.Fprintf(w, "\n### Log and ledger\n\n%d cores, %s; rates per second, medians of %d rounds of %s a figure; ratios are of one round, with least and greatest.\n",
		runtime.NumCPU(), machine, len(rows[0].rounds), benchSlice)
	fmt.Fprint(w, "\nAppend: one command of one event on its own stream, read model included.\n\n"+
		"| clients | pgbench INSERT | appends | appends / INSERT |\n|--:|--:|--:|--:|\n")
	for _, r := range rows {
		fmt.Fprintf(w, "| %d | %s | %s | %s |\n", r.clients, r.of(insertRate).rate(), r.of(appendRate).rate(), r.of(appendShare).ratio())
	}
	fmt.Fprintf(w, "\nHold and settle on %d accounts; a pair is two commands.\n\n"+
		"| clients | pgbench INSERT | pairs | commands / INSERT |\n|--:|--:|--:|--:|\n", benchAccounts)
	for _, r := range rows {
		fmt.Fprintf(w, "| %d | %s | %s | %s |\n", r.clients, r.of(insertRate).rate(), r.of(manyRate).rate(), r.of(manyShare).ratio())
	}
	fmt.Fprint(w, "\nHold and settle on one hot account.\n\n"+
		"| clients | hot UPDATE+INSERT, one statement | the same, four statements | pairs | pairs / one statement | pairs / four |\n|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s | %s |\n", r.clients, r.of(hotUpdateRate).rate(), r.of(hotFourRate).rate(),
			r.of(hotRate).rate(), r.of(hotPairs).ratio(), r.of(hotFourPairs).ratio())
	}
	fmt.Fprintln(w)
}
