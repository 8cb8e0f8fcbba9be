package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// redrawEvery is the shortest time between two drawings of a bar.
const redrawEvery = 80 * time.Millisecond

// Without a terminal, a line is written for each step of lineStep percent, but at most once in
// lineEvery.
const (
	lineStep  = 25
	lineEvery = 2 * time.Second
)

// Progress shows how much of an operation is done: as a bar on a terminal, as a few lines in a file
// or a pipe. It is safe for concurrent use, and prints nothing after Finish.
type Progress struct {
	mu   sync.Mutex
	done bool
	out  Screen
	what string
	unit string
	bar  *progressbar.ProgressBar
	// percent is the percentage in the last line, or -1; lineAt is the time of that line.
	percent int
	lineAt  time.Time
	// startedAt is the time of the first count of this stage, and first is that count.
	startedAt time.Time
	first     int64
	// waits is the last text about the queue, and place the place in it; 0 means none.
	waits string
	place int
}

// BytesUnit shows bytes and a speed. PercentUnit shows no count.
const (
	BytesUnit   = "bytes"
	PercentUnit = "%"
)

// NewProgress starts a progress on w. The verb what names the stage, for example "uploading"; unit
// names the things that are counted.
func NewProgress(w io.Writer, what, unit string) *Progress {
	return progressOn(NewScreen(w), what, unit)
}

func progressOn(out Screen, what, unit string) *Progress {
	p := &Progress{out: out, what: what, unit: unit, percent: -1}
	if !p.out.Live {
		return p
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(out.drawing()),
		progressbar.OptionSetDescription(p.label()),
		progressbar.OptionSetWidth(min(40, p.out.Columns-leastColumns+10)),
		progressbar.OptionThrottle(redrawEvery),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
	}
	switch unit {
	case BytesUnit:
		options = append(options, progressbar.OptionShowBytes(true), progressbar.OptionShowCount(), progressbar.OptionUseIECUnits(true))
	case PercentUnit:
	default:
		options = append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit),
			progressbar.OptionSetPredictTime(true), progressbar.OptionSetWidth(max(8, min(40, p.out.Columns-countColumns))))
	}
	p.bar = progressbar.NewOptions64(100, options...)
	return p
}

// countColumns is the width of the count, the rate and the remaining time beside a bar.
const countColumns = 68

func (p *Progress) label() string { return fmt.Sprintf("%s%-10s", Margin, Printable(p.what)) }

// Live reports whether the progress is drawn as a bar, and not written as lines.
func (p *Progress) Live() bool { return p.out.Live }

// Stage changes the verb of the progress.
func (p *Progress) Stage(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done || what == p.what {
		return
	}
	p.wipe()
	p.what, p.percent, p.startedAt = what, -1, time.Time{}
	if p.bar != nil {
		p.bar.Describe(p.label())
	}
}

// Queued shows the place in a queue, where 1 is the next, and the estimated seconds until the start,
// or nil when they are unknown. Without a terminal, it writes a line only for a new place.
func (p *Progress) Queued(place int, startS *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := queuedText(place, startS)
	switch {
	case p.done || text == p.waits:
	case p.bar != nil:
		if p.waits == "" {
			_ = p.bar.Clear() // a bar that stays is only ugly
		}
		p.wipe()
		p.waits = text[:min(len(text), p.out.Columns-len(Margin)-1)]
		fmt.Fprintf(p.out.drawing(), "\r%s%s", Margin, p.waits)
	case p.place == 0 || place != p.place && time.Since(p.lineAt) >= lineEvery:
		p.waits, p.place, p.lineAt = text, place, time.Now()
		fmt.Fprintln(p.out, text)
	}
}

// Margin indents everything that is drawn on a terminal.
const Margin = "  "

func queuedText(place int, startS *int) string {
	text := fmt.Sprintf("queued, place %d", place)
	if startS != nil {
		text += fmt.Sprintf(", starts in about %s", time.Duration(*startS)*time.Second)
	}
	return text
}

// wipe removes the text about the queue from the screen.
func (p *Progress) wipe() {
	if p.bar != nil && p.waits != "" {
		fmt.Fprintf(p.out.drawing(), "\r%*s\r", len(Margin)+len(p.waits), "")
	}
	p.waits = ""
}

// Set reports that done of total are done. A total of 0 means that it is not known yet.
func (p *Progress) Set(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.startedAt.IsZero() {
		p.startedAt, p.first = time.Now(), done
	}
	switch {
	case p.done:
	case p.bar != nil:
		p.draw(done, total)
	default:
		p.writeLine(done, total)
	}
}

// writeLine writes a line for each step, the first included.
func (p *Progress) writeLine(done, total int64) {
	percent := 0
	if total > 0 {
		percent = int(min(done, total) * 100 / total)
	}
	step := percent / lineStep * lineStep
	if p.percent >= 0 && (step <= p.percent || time.Since(p.lineAt) < lineEvery) {
		return
	}
	p.percent, p.lineAt = step, time.Now()
	switch {
	case total <= 0 || p.unit == PercentUnit && step == 0:
		fmt.Fprintf(p.out, "%s\n", p.what)
	case p.unit == BytesUnit && step == 0:
		fmt.Fprintf(p.out, "%s %s\n", p.what, ByteSize(total))
	case p.unit == BytesUnit:
		fmt.Fprintf(p.out, "%s %d%% of %s\n", p.what, step, ByteSize(total))
	case p.unit == PercentUnit:
		fmt.Fprintf(p.out, "%s %d%%\n", p.what, step)
	default:
		fmt.Fprintf(p.out, "%s %d%% of %d %s%s\n", p.what, step, total, p.unit, p.pace(done, total))
	}
}

// pace returns the rate of this stage and the time that the rest takes at this rate.
func (p *Progress) pace(done, total int64) string {
	took := time.Since(p.startedAt)
	if done <= p.first || took <= 0 {
		return ""
	}
	rate := float64(done-p.first) / took.Seconds()
	left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
	many := fmt.Sprintf("%.1f", rate)
	if rate >= 10 {
		many = Thousands(int64(rate))
	}
	return fmt.Sprintf(", %s a second, %s left", many, left)
}

func (p *Progress) draw(done, total int64) {
	if total > 0 && total != p.bar.GetMax64() {
		p.bar.ChangeMax64(total)
	}
	// A bar that reaches its end disappears. Finish removes it.
	if err := p.bar.Set64(min(done, p.bar.GetMax64()-1)); err != nil {
		p.done = true // the terminal was closed
	}
}

// Finish removes the bar.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done && p.bar != nil {
		p.wipe()
		_ = p.bar.Clear() // a bar that stays is only ugly
	}
	p.done = true
}

// ByteSize formats a number of bytes with a binary unit.
func ByteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, names := float64(n)/unit, "KMGTPE"
	for f >= unit && len(names) > 1 {
		f, names = f/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %ciB", f, names[0])
}
