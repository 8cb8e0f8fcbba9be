package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/account"
	"vqa/domain/fault"
)

func sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List and revoke the sessions of people"}
	cmd.AddCommand(sessionsListCommand(), sessionsRevokeCommand())
	return cmd
}

// listedSession is a session without its secret.
type listedSession struct {
	SessionID  string               `json:"session_id"`
	AccountID  string               `json:"account_id"`
	Method     account.SignInMethod `json:"method"`
	Browser    string               `json:"browser"`
	Network    string               `json:"network"`
	OpenedAt   time.Time            `json:"opened_at"`
	LastUsedAt time.Time            `json:"last_used_at"`
	EndsAt     time.Time            `json:"ends_at"`
}

func sessionsListCommand() *cobra.Command {
	var accountID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [--account ACCOUNT]",
		Short: "List the sessions of people that have not ended",
		Long:  "Lists the sessions that have not ended, the newest first: at most 100, of one account or of all accounts.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withApp(cmd, func(ctx context.Context, a *app) error {
				active, err := a.resources.Sessions(ctx, accountID, a.clock.Now())
				if err != nil {
					return err
				}
				return printSessions(cmd.OutOrStdout(), listSessions(active), asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "account; when empty, all accounts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}

// listSessions returns sessions without their secrets.
func listSessions(sessions []account.Session) []listedSession {
	listed := []listedSession{}
	for _, s := range sessions {
		listed = append(listed, listedSession{s.ID, s.AccountID, s.Method, s.Browser, s.Network, s.OpenedAt, s.LastUsedAt, s.End()})
	}
	return listed
}

func printSessions(out io.Writer, sessions []listedSession, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, sessions)
	}
	t := terminal.Table{{"SESSION", "ACCOUNT", "METHOD", "BROWSER", "FROM", "SIGNED IN", "LAST USED", "ENDS"}}
	for _, s := range sessions {
		t = append(t, []string{
			s.SessionID, s.AccountID, string(s.Method), s.Browser, s.Network, s.OpenedAt.Format(time.DateTime), s.LastUsedAt.Format(time.DateTime), s.EndsAt.Format(time.DateTime),
		})
	}
	t.Print(terminal.NewScreen(out))
	return nil
}

func sessionsRevokeCommand() *cobra.Command {
	return strict(&cobra.Command{
		Use:   "revoke SESSION",
		Short: "Sign a person out immediately",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withApp(cmd, func(ctx context.Context, a *app) error {
				s, found, err := a.resources.SessionByID(ctx, args[0])
				if err != nil {
					return err
				}
				if !found {
					return fault.NotFound("session", args[0])
				}
				request := newRequestID()
				if err := a.commands.RevokeAnySession(ctx, s, operator(), request); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is revoked (%s).\n", s.ID, request)
				return nil
			})
		},
	}, "SESSION")
}
