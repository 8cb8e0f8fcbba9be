package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/account"
	"vqa/domain/fault"
)

func sessionsCommand() *cobra.Command {
	return group("sessions", "List and revoke the sessions of people", sessionsListCommand(), sessionsRevokeCommand())
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
	cmd := &cobra.Command{
		Use:   "list [--account ACCOUNT]",
		Short: "List the sessions of people that have not ended",
		Long:  "Lists the sessions that have not ended, the newest first: at most 100, of one account or of all accounts.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, func(ctx context.Context, a *app) ([]listedSession, error) {
				active, err := a.resources.Sessions(ctx, accountID, a.clock.Now())
				return listSessions(active), err
			}, terminal.List(func(s listedSession) []string {
				return []string{
					s.SessionID, s.AccountID, string(s.Method), s.Browser, s.Network, s.OpenedAt.Format(time.DateTime), s.LastUsedAt.Format(time.DateTime), s.EndsAt.Format(time.DateTime),
				}
			}, "SESSION", "ACCOUNT", "METHOD", "BROWSER", "FROM", "SIGNED IN", "LAST USED", "ENDS"))
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "account; when empty, all accounts")
	return printing(cmd)
}

// listSessions returns sessions without their secrets.
func listSessions(sessions []account.Session) []listedSession {
	listed := []listedSession{}
	for _, s := range sessions {
		listed = append(listed, listedSession{s.ID, s.AccountID, s.Method, s.Browser, s.Network, s.OpenedAt, s.LastUsedAt, s.End()})
	}
	return listed
}

func sessionsRevokeCommand() *cobra.Command {
	return acting("revoke SESSION", "Sign a person out immediately", "revoked", func(ctx context.Context, a *app, args []string, request string) error {
		s, found, err := a.resources.SessionByID(ctx, args[0])
		if err == nil && !found {
			err = fault.NotFound("session", args[0])
		}
		if err != nil {
			return err
		}
		return a.commands.RevokeAnySession(ctx, s, operator(), request)
	})
}
