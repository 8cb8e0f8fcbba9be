package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/handlers/intake/ffmpeg"

	"github.com/spf13/cobra"
)

// checkTimeout bounds each check; a first start fetches and makes a database.
const checkTimeout = 3 * time.Minute

// verdict is how a check ended.
type verdict string

const (
	fine    verdict = "ok"
	warning verdict = "warning"
	broken  verdict = "broken"
)

// finding is what a check found.
type finding struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	// Detail is what was seen.
	Detail string `json:"detail"`
	// Fix says how to mend it, with the command; empty when nothing is to be mended.
	Fix string `json:"fix,omitempty"`
}

// found builds the finding of a check that went well.
func found(format string, args ...any) finding {
	return finding{Verdict: fine, Detail: fmt.Sprintf(format, args...)}
}

// wrong builds the finding of something that is broken.
func wrong(fix, format string, args ...any) finding {
	return finding{Verdict: broken, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// examination is the configuration that is looked at, and what earlier checks saw
// that later ones need.
type examination struct {
	config
	// skew is how far the database's clock is ahead of ours; nil without a database.
	skew *time.Duration
	// picture is a frame of the fixture, a JPEG; nil when none could be extracted.
	picture []byte
	// ffmpeg is nil when no usable one was found.
	ffmpeg *ffmpeg.Runner
	// opened has the engine once checkInference used it, and no other part.
	opened server
}

// close ends the engine.
func (x *examination) close() {
	for _, closeEngine := range x.opened.closers {
		_ = closeEngine() // the findings stand
	}
}

// check looks at one part of the installation.
type check struct {
	name string
	run  func(ctx context.Context, x *examination) finding
}

// The checks are in the order in which a start needs the parts.
var (
	systemChecks = []check{
		{"data folder", checkDataFolder},
		{"disk space", checkDisk},
		{"address", checkAddress},
		{"Postgres", checkPostgres},
		{"clock", checkClock},
	}
	mediaChecks = []check{
		{"ffmpeg", checkFFmpeg},
		{"confinement", checkConfinement},
		{"Node", checkNode},
		{"inference", checkInference},
		{"analysis", checkAnalysis},
	}
	languageChecks = []check{
		{"language", checkLanguageModel},
		{"vision", checkVisionModel},
	}
)

func doctorCommand() *cobra.Command {
	var asJSON, media bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that the service needs, and say how to mend it",
		Long: `Checks what the service needs by using it: the database is started (and made, as the first start would),
a clip is made, stored and analyzed, and language models are asked once. Nothing is written to the database.
Exit status 1 when something is broken.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			checks := mediaChecks
			if !media {
				checks = slices.Concat(systemChecks, mediaChecks, languageChecks)
			}
			return doctor(cmd.Context(), c, checks, cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&media, "media", false, "check only ffmpeg, Node, the engine and one analysis: needs no database")
	return strict(cmd)
}

// doctor runs the checks one after the other and prints each as it ends.
func doctor(ctx context.Context, c config, checks []check, stdout io.Writer, asJSON bool) error {
	out := terminal.NewScreen(stdout)
	all := make([]finding, 0, len(checks))
	healthy := true
	x := &examination{config: c}
	defer x.close()
	for _, k := range checks {
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		f := k.run(limited, x)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.Name = k.name
		healthy = healthy && f.Verdict != broken
		all = append(all, f)
		if !asJSON {
			printFinding(out, f)
		}
	}
	if asJSON {
		if err := terminal.PrintJSON(stdout, map[string]any{"healthy": healthy, "checks": all}); err != nil {
			return err
		}
	}
	if !healthy {
		return exitError(1)
	}
	return nil
}

func printFinding(out terminal.Screen, f finding) {
	mark := map[verdict]string{
		fine: out.Paint(terminal.BoldGreen, "ok     "), warning: out.Paint(terminal.BoldYellow, "warning"), broken: out.Paint(terminal.BoldRed, "BROKEN "),
	}[f.Verdict]
	fmt.Fprintf(out, "  %s  %-12s %s\n", mark, f.Name, f.Detail)
	if f.Fix != "" {
		fmt.Fprintf(out, "           %-12s %s\n", "", out.Paint(terminal.Bold, "mend: "+f.Fix))
	}
}
