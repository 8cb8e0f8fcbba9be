package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/migrations"
	"vqa/projections"
)

func projectionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "projections", Short: "List, verify and rebuild the read models"}
	cmd.AddCommand(projectionsListCommand(), projectionsVerifyCommand(), projectionsRebuildCommand())
	return cmd
}

func projectionsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the read models with their last certificates",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRebuilder(cmd, func(ctx context.Context, r *projections.Rebuilder) error {
				list, err := r.List(ctx)
				if err != nil {
					return err
				}
				return printProjections(cmd.OutOrStdout(), list, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}

func projectionsVerifyCommand() *cobra.Command {
	return provingCommand(&cobra.Command{
		Use:   "verify NAME|--all",
		Short: "Prove that read models and snapshots match the log",
		Long: "Folds the log into shadow tables while the service runs, and compares every row with the live\n" +
			"tables. It also compares each snapshot of the same streams with the fold of its events. It changes\n" +
			"nothing. The exit status is 1 when a row or a snapshot differs, and when streams have events that\n" +
			"this program cannot read.",
	}, (*projections.Rebuilder).Verify)
}

func projectionsRebuildCommand() *cobra.Command {
	var accept bool
	cmd := provingCommand(&cobra.Command{
		Use:   "rebuild NAME|--all",
		Short: "Rebuild read models from the log",
		Long: "Folds the log into shadow tables while the service runs, compares every row with the live tables,\n" +
			"and swaps the tables. When a row differs, it swaps nothing and the exit status is 1, unless\n" +
			"--accept is given. The next rebuild continues an interrupted one.",
	}, func(r *projections.Rebuilder, ctx context.Context, names ...string) (projections.Certificate, error) {
		return r.Rebuild(ctx, accept, names...)
	})
	cmd.Flags().BoolVar(&accept, "accept", false, "swap the tables even if rows differ")
	return cmd
}

// provingCommand completes a subcommand that ends with a certificate.
func provingCommand(cmd *cobra.Command, prove func(r *projections.Rebuilder, ctx context.Context, names ...string) (projections.Certificate, error)) *cobra.Command {
	var all, asJSON bool
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if all == (len(names) > 0) {
			fmt.Fprintln(cmd.ErrOrStderr(), "vqa: give either the NAME of a read model or --all")
			return exitUsage
		}
		return withRebuilder(cmd, func(ctx context.Context, r *projections.Rebuilder) error {
			bar := terminal.NewProgress(cmd.ErrOrStderr(), string(projections.Folding), "events")
			r.Progress = func(stage projections.Stage, done, total int64) {
				bar.Stage(string(stage))
				if stage == projections.Folding || stage == projections.VerifyingSnapshots {
					bar.Set(done, total)
				}
			}
			c, err := prove(r, ctx, names...)
			bar.Finish()
			if err != nil {
				return err
			}
			if err := printCertificate(cmd.OutOrStdout(), c, asJSON); err != nil {
				return err
			}
			if !c.Equal && !c.Accepted || c.UnreadableStreams > 0 {
				return exitError(1)
			}
			return nil
		})
	}
	cmd.Flags().BoolVar(&all, "all", false, "all read models")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[NAME]")
}

// withRebuilder opens the data and calls do with a rebuilder of its read models.
func withRebuilder(cmd *cobra.Command, do func(context.Context, *projections.Rebuilder) error) error {
	return withApp(cmd, func(ctx context.Context, a *app) error {
		return a.rebuilding(ctx, func(r *projections.Rebuilder) error { return do(ctx, r) })
	})
}

// rebuilding calls do with a rebuilder that works as the owner of the tables.
func (a *app) rebuilding(ctx context.Context, do func(*projections.Rebuilder) error) error {
	config, err := pgxpool.ParseConfig(a.ownerURL)
	if err != nil {
		return err
	}
	// The URL may set the size of the service's pool. A rebuild needs its own size.
	config.MaxConns = int32(runtime.GOMAXPROCS(0) + 4) //nolint:gosec // a number of processors
	postgres.KeepAlive(config.ConnConfig)
	owner, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer owner.Close()
	return do(newRebuilder(owner))
}

// newRebuilder returns a rebuilder of the read models of this program.
func newRebuilder(owner *pgxpool.Pool) *projections.Rebuilder {
	events := codec.Events()
	return &projections.Rebuilder{
		Owner: owner, Decode: events.Unmarshal, Readable: events.Readable(), Generation: migrations.Generation(),
		Role: postgres.Role, Projections: allProjections(),
	}
}

func printProjections(out io.Writer, list []projections.Listed, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, map[string]any{"projections": list})
	}
	t := terminal.Table{{"TABLE", "STREAMS", "ROWS", "SHAPE", "BUILT", "LAST CERTIFICATE"}}
	for _, l := range list {
		shape, last := "current", "none"
		switch {
		case l.Newer:
			shape = "newer"
		case !l.Current:
			shape = "stale"
		}
		if c := l.Certificate; c != nil {
			// The certificate may cover more tables. Only the first one is this table.
			c.Equal = c.Tables[0].Equal()
			c.Accepted = c.Swapped && !c.Equal
			last = fmt.Sprintf("%s, position %s: %s", c.At.Format(time.DateTime), terminal.Thousands(c.Position), certified(*c))
		}
		t = append(t, []string{l.Table, l.Category, terminal.Thousands(l.Rows), shape, l.RebuiltAt.Format(time.DateTime), last})
	}
	t.Print(terminal.NewScreen(out))
	return nil
}
