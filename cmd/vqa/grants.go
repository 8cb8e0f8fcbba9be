package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/domain/grant"
)

func grantsCommand() *cobra.Command {
	return group("grants", "List and revoke the permissions of agents", grantsListCommand(), grantsRevokeCommand())
}

// listedGrant is a permission without its secrets.
type listedGrant struct {
	AccountID  string `json:"account_id"`
	GrantID    string `json:"grant_id"`
	ClientID   string `json:"client_id"`
	ClientName string `json:"client_name"`
	Livemode   bool   `json:"livemode"`
	// Status is approved, active, expired or revoked.
	Status string `json:"status"`
	// Reason says why the permission was revoked. It is empty otherwise.
	Reason grant.Reason `json:"reason,omitempty"`
	// SpentSeconds are the settled credit-seconds, and HeldSeconds those of unfinished work.
	SpentSeconds int64 `json:"spent_seconds"`
	HeldSeconds  int64 `json:"held_seconds"`
	// LimitSeconds is null without a limit.
	LimitSeconds *int64     `json:"limit_seconds"`
	ApprovedAt   time.Time  `json:"approved_at"`
	UsedAt       *time.Time `json:"used_at"`
	ExpiresAt    time.Time  `json:"expires_at"`
}

func grantsListCommand() *cobra.Command {
	var accountID string
	cmd := &cobra.Command{
		Use:   "list [--account ACCOUNT]",
		Short: "List the permissions that an account gave to agents",
		Long: `Lists the newest 200 permissions that an account gave to agents, also ended ones. Without --account it is the
account of the key in the data folder. SPENT counts unfinished work in full.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			accountID, err := ownAccount(cmd, accountID)
			if err != nil {
				return err
			}
			return showFrom(cmd, func(ctx context.Context, a *app) ([]listedGrant, error) {
				all, err := a.resources.Grants(ctx, accountID)
				if err != nil {
					return nil, err
				}
				balance, err := a.ledger.Balance(ctx, accountID)
				return listGrants(all, balance, a.clock.Now()), err
			}, terminal.List(grantRow, "GRANT", "PROGRAM", "CLIENT", "MODE", "STATUS", "SPENT", "LIMIT", "APPROVED"))
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "account; when empty, the account of the key in the data folder")
	return printing(cmd)
}

func listGrants(all []grant.State, balance credit.State, now time.Time) []listedGrant {
	out := make([]listedGrant, 0, len(all))
	for _, g := range all {
		settled, held := balance.SpentBy(g.ID)
		l := listedGrant{
			AccountID: g.AccountID, GrantID: g.ID, ClientID: g.ClientID, ClientName: g.ClientName, Livemode: g.Livemode, Status: string(g.Status),
			Reason: g.Reason, SpentSeconds: settled, HeldSeconds: held, ApprovedAt: g.DecidedAt, ExpiresAt: g.ExpiresAt,
		}
		if g.Status != grant.StatusRevoked && !g.Open(now) {
			l.Status = "expired"
		}
		if g.LimitSeconds > 0 {
			l.LimitSeconds = &g.LimitSeconds
		}
		if !g.UsedAt.IsZero() {
			l.UsedAt = &g.UsedAt
		}
		out = append(out, l)
	}
	return out
}

func grantRow(g listedGrant) []string {
	mode, limit, status := "test", "none", g.Status
	if g.Livemode {
		mode = "live"
	}
	if g.LimitSeconds != nil {
		limit = terminal.Thousands(*g.LimitSeconds) + " s"
	}
	if g.Reason != "" {
		status += " (" + string(g.Reason) + ")"
	}
	return []string{
		g.GrantID, g.ClientName, g.ClientID, mode, status, terminal.Thousands(g.SpentSeconds+g.HeldSeconds) + " s", limit, g.ApprovedAt.Format(time.DateTime),
	}
}

func grantsRevokeCommand() *cobra.Command {
	return acting("revoke ACCOUNT GRANT", "Revoke the permission of an agent immediately", "revoked",
		func(ctx context.Context, a *app, args []string, request string) error {
			return a.commands.RevokeGrantOf(ctx, args[0], args[1], operator(), request)
		})
}
