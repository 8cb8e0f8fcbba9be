package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/incident"
)

// shownIncidents is the largest number of incidents that `vqa incidents list` prints.
const shownIncidents = 100

func incidentsCommand() *cobra.Command {
	cmd := group("incidents", "Open, close and list platform incidents", incidentsOpenCommand(), incidentsCloseCommand(), incidentsListCommand())
	cmd.Long = "Open, close and list platform incidents.\n\n" +
		"An analysis that fails with inference_error or stuck_timeout during an open incident can be run\nagain once, free of charge."
	return cmd
}

// shownIncident is an incident as it is printed.
type shownIncident struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Open     bool       `json:"open"`
	OpenedAt time.Time  `json:"opened_at"`
	ClosedAt *time.Time `json:"closed_at"`
}

func showIncident(s incident.State) shownIncident {
	return shownIncident{ID: s.ID, Title: s.Title, Open: s.Open(), OpenedAt: s.OpenedAt, ClosedAt: s.ClosedAt}
}

func incidentsOpenCommand() *cobra.Command {
	return incidentCommand("open TITLE", "Open an incident with a title that describes the problem", func(ctx context.Context, a *app, title string) (incident.State, error) {
		return a.commands.OpenIncident(ctx, title, operator())
	})
}

func incidentsCloseCommand() *cobra.Command {
	return incidentCommand("close INCIDENT", "Close an incident", func(ctx context.Context, a *app, id string) (incident.State, error) {
		return a.commands.CloseIncident(ctx, id, operator())
	})
}

// incidentCommand changes one incident and prints it.
func incidentCommand(use, short string, change func(ctx context.Context, a *app, arg string) (incident.State, error)) *cobra.Command {
	_, name, _ := strings.Cut(use, " ")
	return printing(&cobra.Command{
		Use:   use,
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showFrom(cmd, func(ctx context.Context, a *app) (shownIncident, error) {
				s, err := change(ctx, a, args[0])
				return showIncident(s), err
			}, func(s terminal.Screen, i shownIncident) { printIncidents(s, []shownIncident{i}) })
		},
	}, name)
}

func incidentsListCommand() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: fmt.Sprintf("List incidents, newest first, at most %d", shownIncidents),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, func(ctx context.Context, a *app) ([]shownIncident, error) {
				list, err := a.resources.Incidents(ctx, open, shownIncidents)
				shown := make([]shownIncident, len(list))
				for i, s := range list {
					shown[i] = showIncident(s)
				}
				return shown, err
			}, printIncidents)
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "only open incidents")
	return printing(cmd)
}

var printIncidents = terminal.List(func(i shownIncident) []string {
	closed := "open"
	if i.ClosedAt != nil {
		closed = i.ClosedAt.Format(time.DateTime)
	}
	return []string{i.ID, i.OpenedAt.Format(time.DateTime), closed, i.Title}
}, "INCIDENT", "OPENED", "CLOSED", "TITLE")
