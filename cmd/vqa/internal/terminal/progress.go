package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// redrawEvery is how often a bar may change on the screen.
const redrawEvery = 80 * time.Millisecond

// Where no bar can be drawn a line is written at each step of lineStep percent, but
// not sooner than lineEvery after the last.
const (
	lineStep  = 25
	lineEvery = 2 * time.Second
)

// Progress tells a person how far something is: a bar on a terminal, a few lines
// elsewhere. It is safe for concurrent use, and silent once it is finished.
type Progress struct {
	mu   sync.Mutex
	done bool
	out  Screen
	what string
	unit string
	bar  *progressbar.ProgressBar
	// said is the last percentage written as a line, or -1; saidAt is when.
	said   int
	saidAt time.Time
	// begun is when the stage began to be counted, and first what was done by then.
	begun time.Time
	first int64
	// waits is what was last written of the queue, place the place it told of; 0 for none.
	waits string
	place int
}

// BytesUnit makes a progress count in bytes and show a speed; PercentUnit leaves
// the count out.
const (
	BytesUnit   = "bytes"
	PercentUnit = "%"
)

// NewProgress begins to tell on w. what is a verb ("uploading"), unit what is counted.
func NewProgress(w io.Writer, what, unit string) *Progress {
	return progressOn(NewScreen(w), what, unit)
}

func progressOn(out Screen, what, unit string) *Progress {
	p := &Progress{out: out, what: what, unit: unit, said: -1}
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

// countColumns is what count, rate and time left take beside a bar.
const countColumns = 68

func (p *Progress) label() string { return fmt.Sprintf("%s%-10s", Margin, Printable(p.what)) }

// Live reports whether the progress is drawn as a bar, and not written as lines.
func (p *Progress) Live() bool { return p.out.Live }

// Stage changes the verb.
func (p *Progress) Stage(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done || what == p.what {
		return
	}
	p.wipe()
	p.what, p.said, p.begun = what, -1, time.Time{}
	if p.bar != nil {
		p.bar.Describe(p.label())
	}
}

// Queued tells the place in a queue, 1 for the next, and in how many seconds its turn is
// likely to come; nil when nobody can tell. Where no bar can be drawn only a new place is
// worth a line.
func (p *Progress) Queued(place int, startS *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := queuedText(place, startS)
	switch {
	case p.done || text == p.waits:
	case p.bar != nil:
		if p.waits == "" {
			_ = p.bar.Clear() // cosmetic
		}
		p.wipe()
		p.waits = text[:min(len(text), p.out.Columns-len(Margin)-1)]
		fmt.Fprintf(p.out.drawing(), "\r%s%s", Margin, p.waits)
	case p.place == 0 || place != p.place && time.Since(p.saidAt) >= lineEvery:
		p.waits, p.place, p.saidAt = text, place, time.Now()
		fmt.Fprintln(p.out, text)
	}
}

// Margin is before what is drawn on a terminal.
const Margin = "  "

func queuedText(place int, startS *int) string {
	text := fmt.Sprintf("queued, place %d", place)
	if startS != nil {
		text += fmt.Sprintf(", begins in about %s", time.Duration(*startS)*time.Second)
	}
	return text
}

// wipe takes what was drawn of a queue away.
func (p *Progress) wipe() {
	if p.bar != nil && p.waits != "" {
		fmt.Fprintf(p.out.drawing(), "\r%*s\r", len(Margin)+len(p.waits), "")
	}
	p.waits = ""
}

// Set says that done of total are done. A total of 0 is not known yet.
func (p *Progress) Set(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun.IsZero() {
		p.begun, p.first = time.Now(), done
	}
	switch {
	case p.done:
	case p.bar != nil:
		p.draw(done, total)
	default:
		p.say(done, total)
	}
}

// say writes a line for the first and each further step.
func (p *Progress) say(done, total int64) {
	percent := 0
	if total > 0 {
		percent = int(min(done, total) * 100 / total)
	}
	step := percent / lineStep * lineStep
	if p.said >= 0 && (step <= p.said || time.Since(p.saidAt) < lineEvery) {
		return
	}
	p.said, p.saidAt = step, time.Now()
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

// pace says how many a second there were so far, and how long the rest takes at that.
func (p *Progress) pace(done, total int64) string {
	took := time.Since(p.begun)
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
	// Reaching the end would take the bar away; that is Finish's to do.
	if err := p.bar.Set64(min(done, p.bar.GetMax64()-1)); err != nil {
		p.done = true // the terminal is gone: nobody reads it
	}
}

// Finish takes the bar away.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done && p.bar != nil {
		p.wipe()
		_ = p.bar.Clear() // cosmetic: what matters was or will be printed
	}
	p.done = true
}

// ByteSize is a size for people.
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
