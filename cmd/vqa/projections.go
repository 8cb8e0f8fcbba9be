package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"vqa/eventstore/postgres"
	"vqa/projections"
)

func projectionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "projections", Short: "Inspect and rebuild the read models"}
	cmd.AddCommand(rebuildCommand())
	return cmd
}

func rebuildCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "rebuild --all",
		Short: "Make the read models anew from the log and compare them with the live ones",
		Long: "Folds the whole log into shadow tables while the service runs, compares them row for row\n" +
			"with the live ones and swaps them in. Exit status 1 when a table differed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !all {
				return errors.New("say --all: the read models are rebuilt together")
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				bar := newProgress(cmd.ErrOrStderr(), "rebuilding", "events")
				differences, err := a.rebuild(ctx, bar.set)
				bar.finish()
				if err != nil {
					return err
				}
				return printDifferences(cmd.OutOrStdout(), differences, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "rebuild every read model")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// rebuild makes every read model anew.
func (a *app) rebuild(ctx context.Context, progress projections.Progress) ([]projections.Difference, error) {
	owner, err := pgxpool.New(ctx, a.ownerURL)
	if err != nil {
		return nil, err
	}
	defer owner.Close()
	r := projections.Rebuilder{Owner: owner, Log: a.store, Role: postgres.Role, Projections: allProjections()}
	return r.Rebuild(ctx, progress)
}

// refresh makes the read models anew when the program's shape is not theirs.
func (a *app) refresh(ctx context.Context) error {
	owner, err := pgxpool.New(ctx, a.ownerURL)
	if err != nil {
		return err
	}
	defer owner.Close()
	r := projections.Rebuilder{Owner: owner, Log: a.store, Role: postgres.Role, Projections: allProjections()}
	stale, err := r.Stale(ctx)
	if err != nil || len(stale) == 0 {
		return err
	}
	if _, err := r.Rebuild(ctx, func(int64, int64) {}); err != nil {
		return fmt.Errorf("making the read models anew: %w", err)
	}
	return nil
}

func printDifferences(out io.Writer, differences []projections.Difference, asJSON bool) error {
	equal := true
	for _, d := range differences {
		equal = equal && d.Equal()
	}
	if asJSON {
		if err := json.NewEncoder(out).Encode(map[string]any{"equal": equal, "tables": differences}); err != nil {
			return err
		}
	} else {
		for _, d := range differences {
			verdict := "equal"
			if !d.Equal() {
				verdict = fmt.Sprintf("DIFFERED: %d missing, %d in error, %d changed (%s)",
					d.Missing, d.Surplus, d.Changed, strings.Join(d.Examples, ", "))
			}
			fmt.Fprintf(out, "%-20s %8d rows  %s\n", d.Table, d.Rows, verdict)
		}
	}
	if !equal {
		return exitError(1)
	}
	return nil
}
