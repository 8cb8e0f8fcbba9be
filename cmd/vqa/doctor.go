package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/eventstore/postgres"
)

func doctorCommand() *cobra.Command {
	var media bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that the service needs, and say how to repair it",
		Long: `Checks the parts of the service by using them: it starts the database, which it creates before the
first start; it stores and analyzes a demo video; and it sends one request to each language model
and to each witness of the ledger.
It writes nothing to the database. The exit status is 1 when a part is broken.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig() // the checks of media need no installation
			checks := doctor.Media
			if !media {
				c, err = locatedConfig("", cmd.ErrOrStderr())
				checks = slices.Concat(doctor.System, doctor.Media, doctor.Language)
			}
			if err != nil {
				return err
			}
			healthy, err := doctor.Report(cmd.Context(), c.installation(), checks, cmd.OutOrStdout(), asJSON(cmd))
			if err == nil {
				err = failing(!healthy)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&media, "media", false, "check only ffmpeg, Node, the engine and one analysis, without a database")
	return printing(cmd)
}

// installation returns the settings and the parts that the checks examine.
func (c config) installation() doctor.Installation {
	server, _ := serverOf(c.DataDir)
	return doctor.Installation{
		Addr: c.Addr, PublicURL: c.PublicURL, DataDir: c.DataDir, RunningURL: server.URL, BlobURL: c.BlobURL, MinFreeSpace: int64(c.MinFreeSpace),
		Secrets:     []string{secretKeyFile, ledgerKeyFile, filepath.Base(storedKeyPath(c))},
		Operator:    operator(),
		DatabaseURL: c.DatabaseURL, PostgresBin: c.PostgresBin, InspectLog: inspectLog,
		Released: catalog(c)[0].CreatedAt, Now: machineTime,
		EngineServers: len(c.InferenceURL) > 0, Patience: c.InferencePatience, LLMTimeout: c.LLMTimeout,
		CompareInstallation: c.compareInstallation, Subscribers: checkSubscribers, Ledger: c.inspectLedger, Alarm: inspectAlarm, Witnesses: c.inspectWitnesses,
		OpenFFmpeg: c.openFFmpeg, Picture: extractPicture, OpenEngine: c.engine,
		LanguageModel: c.languageModel, VisionModel: c.visionModel,
	}
}

// inspectLog returns a finding for each failed check of the log, and for each transaction that blocks
// its readers.
func inspectLog(ctx context.Context, url string) (found []doctor.Finding, err error) {
	for _, err := range flattened(postgres.Check(ctx, url)) {
		var unsafe *postgres.UnsafeError
		if !errors.As(err, &unsafe) {
			return nil, err
		}
		f := doctor.Finding{Verdict: doctor.Broken, Detail: unsafe.Check + ": " + unsafe.Detail, Fix: unsafe.Remedy}
		if unsafe.Check == postgres.SchemaCheck {
			f.Verdict = doctor.Warning // the next start migrates
		}
		found = append(found, f)
	}
	if len(found) > 0 {
		return found, nil
	}
	writers, err := postgres.OldWriters(ctx, url)
	for _, w := range writers {
		found = append(found, doctor.Finding{
			Verdict: doctor.Broken, Detail: "an open transaction blocks all readers: " + w.String(), Fix: "run in the database: " + w.Remedy(),
		})
	}
	if err != nil {
		return found, err
	}
	releases, err := inspectReleases(ctx, url)
	return append(found, releases...), err
}

// flattened returns the errors of a nested errors.Join.
func flattened(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flattened(e)...)
	}
	return all
}

// engine starts the configured engine and no other part of the service.
func (c config) engine(ctx context.Context) (doctor.Engine, error) {
	var s server
	err := s.openEngine(ctx, c, slog.New(slog.DiscardHandler))
	return doctor.Engine{Engine: s.engine, Calibrations: s.calibrations, Close: func() {
		for _, closeEngine := range s.closers {
			_ = closeEngine() // the findings are complete
		}
	}}, err
}
