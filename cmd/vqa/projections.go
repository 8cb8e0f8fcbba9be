package main

import (
	"context"
	"errors"
	"fmt"
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
	return group("projections", "List, verify and rebuild the read models", projectionsListCommand(), projectionsVerifyCommand(), projectionsRebuildCommand())
}

// listedProjections is the output of vqa projections list.
type listedProjections struct {
	Projections []projections.Listed `json:"projections"`
}

func projectionsListCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "list",
		Short: "List the read models with their last certificates",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, rebuilt(func(ctx context.Context, r *projections.Rebuilder) (all listedProjections, err error) {
				all.Projections, err = r.List(ctx)
				return all, err
			}), func(s terminal.Screen, all listedProjections) {
				terminal.List(projectionRow, "TABLE", "STREAMS", "ROWS", "SHAPE", "BUILT", "LAST CERTIFICATE")(s, all.Projections)
			})
		},
	})
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
	var all bool
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if all == (len(names) > 0) {
			return misuse(cmd, errors.New("give either the NAME of a read model or --all"))
		}
		return showFrom(cmd, rebuilt(func(ctx context.Context, r *projections.Rebuilder) (projections.Certificate, error) {
			bar := terminal.NewProgress(cmd.ErrOrStderr(), string(projections.Folding), "events")
			r.Progress = func(stage projections.Stage, done, total int64) {
				bar.Stage(string(stage))
				if stage == projections.Folding || stage == projections.VerifyingSnapshots {
					bar.Set(done, total)
				}
			}
			c, err := prove(r, ctx, names...)
			bar.Finish()
			if err == nil {
				err = failing(!c.Equal && !c.Accepted || c.UnreadableStreams > 0)
			}
			return c, err
		}), printCertificate)
	}
	cmd.Flags().BoolVar(&all, "all", false, "all read models")
	return printing(cmd, "[NAME]")
}

// rebuilt returns a function that calls do with a rebuilder of the read models.
func rebuilt[T any](do func(context.Context, *projections.Rebuilder) (T, error)) func(context.Context, *app) (T, error) {
	return func(ctx context.Context, a *app) (result T, err error) {
		err = a.rebuilding(ctx, func(r *projections.Rebuilder) (err error) {
			result, err = do(ctx, r)
			return err
		})
		return result, err
	}
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

func projectionRow(l projections.Listed) []string {
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
	return []string{l.Table, l.Category, terminal.Thousands(l.Rows), shape, l.RebuiltAt.Format(time.DateTime), last}
}
