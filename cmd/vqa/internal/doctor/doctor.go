package doctor

import (
	"context"
	"fmt"
	"io"
	"time"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/answer"
	"vqa/gpu"
	"vqa/gpu/chat"
	"vqa/handlers/intake/ffmpeg"
)

// checkTimeout bounds each check. The first start of the embedded database downloads and creates it.
const checkTimeout = 3 * time.Minute

// Verdict is the outcome of a check.
type Verdict string

// The verdicts. A warning does not keep the service from working.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning"
	Broken  Verdict = "broken"
)

// Finding is the result of a check.
type Finding struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Detail describes the state of the part.
	Detail string `json:"detail"`
	// Fix says how to repair it, with the command; empty when nothing needs a repair.
	Fix string `json:"fix,omitempty"`
}

// found returns the finding of a check without problems.
func found(format string, args ...any) Finding {
	return Finding{Verdict: OK, Detail: fmt.Sprintf(format, args...)}
}

// wrong returns the finding of a broken part.
func wrong(fix, format string, args ...any) Finding {
	return Finding{Verdict: Broken, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// Engine is an inference engine with the calibrations that the operator gave.
type Engine struct {
	gpu.Engine
	Calibrations answer.Calibrations
	// Close ends the engine; it is nil when there is nothing to end.
	Close func()
}

// Installation is what the checks examine: settings, and the parts that the service would start.
type Installation struct {
	Addr, PublicURL, DataDir, BlobURL string
	// RunningURL is the address of the server that runs on DataDir, or empty.
	RunningURL   string
	MinFreeSpace int64
	// Secrets are the names of the files in DataDir that only their owner may read.
	Secrets []string
	// Operator is the name of the user who runs the checks.
	Operator string
	// DatabaseURL is empty for the embedded database.
	DatabaseURL, PostgresBin string
	// InspectLog returns a finding for each fault of the log in a database. Error: the one of a
	// connection.
	InspectLog func(ctx context.Context, url string) ([]Finding, error)
	// Released is when this program's models were published; no clock can show an earlier time.
	Released time.Time
	Now      func() time.Time
	// EngineServers is true when VQA_INFERENCE_URL names the engine.
	EngineServers bool
	// Patience is how long an analysis waits for an engine that does not answer.
	Patience time.Duration
	// LLMTimeout is how long a request waits for the compilation of a prompt.
	LLMTimeout time.Duration

	// CompareInstallation compares the secret key and the object store with those that the database
	// has recorded. complete is false when the first start will record one.
	CompareInstallation func(ctx context.Context, databaseURL string) (complete bool, err error)

	// Subscribers describes the alarms about subscribers of the log, and the commands that end them.
	// Both are empty when there are none.
	Subscribers func(ctx context.Context, databaseURL string) (detail, fix string, err error)

	// Ledger compares the database with the checkpoints of the ledger outside it. Error: the one of a connection.
	Ledger func(ctx context.Context, databaseURL string) (Finding, error)

	// Alarm returns the finding about an alarm of the service.
	Alarm func(name string) Finding

	// Witnesses returns a finding for each witness of the ledger.
	Witnesses func(ctx context.Context) ([]Finding, error)

	OpenFFmpeg func(context.Context) (*ffmpeg.Runner, error)
	// Picture extracts a JPEG that shows a ball.
	Picture    func(context.Context, *ffmpeg.Runner) ([]byte, error)
	OpenEngine func(context.Context) (Engine, error)
	// LanguageModel and VisionModel return nil when no model is configured.
	LanguageModel, VisionModel func() (*chat.Client, error)
}

// Examination runs checks on an installation. It keeps what earlier checks saw and later ones
// need.
type Examination struct {
	Installation
	// serviceURL is the address of the service that runs, or empty.
	serviceURL string
	// skew is the time by which the database's clock is ahead of this machine's; nil without a
	// database.
	skew *time.Duration
	// database is what checkPostgres found; nil without a database. closeDatabase ends this use of an
	// embedded one, or is nil.
	database      *database
	closeDatabase func()
	// picture is a frame of the fixture, a JPEG; nil when none could be extracted.
	picture []byte
	// ffmpeg is nil when no usable one was found.
	ffmpeg *ffmpeg.Runner
	// engine has no Engine until checkInference has used one.
	engine Engine
}

// Examine starts an examination. The caller closes it.
func Examine(in Installation) *Examination { return &Examination{Installation: in} }

// Close ends the engine and the embedded database.
func (x *Examination) Close() {
	if x.closeDatabase != nil {
		x.closeDatabase()
	}
	if x.engine.Close != nil {
		x.engine.Close()
	}
}

// Check examines one part of the installation.
type Check struct {
	Name string
	run  func(ctx context.Context, x *Examination) Finding
}

// The checks, in the order in which a start needs the parts.
var (
	// System has the checks of the machine and of the database.
	System = []Check{
		{"data folder", checkDataFolder},
		{"disk space", checkDisk},
		{"address", checkAddress},
		{"Postgres", checkPostgres},
		{"checksums", checkChecksums},
		{"installation", checkInstallation},
		{"log", checkLog},
		{"subscribers", checkSubscribers},
		{"ledger", checkLedger},
		{"witnesses", checkWitnesses},
		{"clock", checkClock},
		{"alarms", checkAlarms},
	}
	// Media has the checks of ffmpeg, of the engine and of one analysis.
	Media = []Check{
		{"ffmpeg", checkFFmpeg},
		{"confinement", checkConfinement},
		{"Node", checkNode},
		{"inference", checkInference},
		{"analysis", checkAnalysis},
	}
	// Language has the checks of the optional language models.
	Language = []Check{
		{"language", checkLanguageModel},
		{"vision", checkVisionModel},
	}
)

// Run runs one check within its time.
func (x *Examination) Run(ctx context.Context, c Check) Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f := c.run(ctx, x)
	f.Name = c.Name
	return f
}

// Report runs the checks one after the other and prints each as it ends. It reports whether
// nothing is broken.
func Report(ctx context.Context, in Installation, checks []Check, stdout io.Writer, asJSON bool) (healthy bool, err error) {
	out := terminal.NewScreen(stdout)
	all := make([]Finding, 0, len(checks))
	healthy = true
	x := Examine(in)
	defer x.Close()
	for _, c := range checks {
		f := x.Run(ctx, c)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		healthy = healthy && f.Verdict != Broken
		all = append(all, f)
		if !asJSON {
			printFinding(out, f)
		}
	}
	if asJSON {
		return healthy, terminal.PrintJSON(stdout, map[string]any{"healthy": healthy, "checks": all})
	}
	return healthy, nil
}

func printFinding(out terminal.Screen, f Finding) {
	mark := map[Verdict]string{
		OK: out.Paint(terminal.BoldGreen, "ok     "), Warning: out.Paint(terminal.BoldYellow, "warning"), Broken: out.Paint(terminal.BoldRed, "BROKEN "),
	}[f.Verdict]
	fmt.Fprintf(out, "  %s  %-12s %s\n", mark, f.Name, f.Detail)
	if f.Fix != "" {
		fmt.Fprintf(out, "           %-12s %s\n", "", out.Paint(terminal.Bold, "fix: "+f.Fix))
	}
}
