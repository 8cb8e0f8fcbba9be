package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/handlers/command"
)

func keysCommand() *cobra.Command {
	return group("keys", "Create, list and revoke API keys; restrict accounts",
		keysCreateCommand(), keysListCommand(), keysRevokeCommand(), keysImportCommand(),
		restrictionCommand("restrict", "Refuse all requests with keys, tokens and sessions of an account", "restricted", (*command.Service).RestrictAccount),
		restrictionCommand("unrestrict", "Accept requests of a restricted account again", "no longer restricted", (*command.Service).UnrestrictAccount))
}

// newRequestID returns an id for an operator's change, as each request of the API has one.
func newRequestID() string { return id.NewSource(machineTime, rand.Reader).New(id.Request) }

// withApp opens the service's data, with or without a running server, and calls do.
func withApp(cmd *cobra.Command, do func(ctx context.Context, a *app) error) error {
	c, err := locatedConfig("", cmd.ErrOrStderr())
	if err == nil {
		err = c.checkData(cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	a, err := openApp(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c), adapters{})
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), a), a.Close())
}

// issuedKey is the output of `vqa keys create`. The secret cannot be read again.
type issuedKey struct {
	AccountID      string       `json:"account_id"`
	KeyID          string       `json:"key_id"`
	APIKey         string       `json:"api_key"`
	Mode           account.Mode `json:"mode"`
	GrantSeconds   int64        `json:"grant_seconds"`
	ExpiresAt      *time.Time   `json:"expires_at,omitempty"`
	FixtureVideoID string       `json:"fixture_video_id,omitempty"`
	// RequestID identifies the change in the log.
	RequestID string `json:"request_id"`
}

func keysCreateCommand() *cobra.Command {
	var (
		newKey     command.NewKey
		mode, tier string
		expiresIn  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "create --mode live|test",
		Short: "Create an API key, in a new account unless --account is given",
		RunE: func(cmd *cobra.Command, _ []string) error {
			newKey.Mode, newKey.Tier, newKey.Operator = account.Mode(mode), account.Tier(tier), operator()
			newKey.RequestID = newRequestID()
			if err := checkNewKey(newKey, expiresIn); err != nil {
				return misuse(cmd, err)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (issuedKey, error) {
				if expiresIn > 0 {
					at := a.clock.Now().Add(expiresIn)
					newKey.ExpiresAt = &at
				}
				k, err := a.commands.IssueKey(ctx, newKey)
				return issuedKey{
					AccountID: k.AccountID, KeyID: k.KeyID, APIKey: k.Secret, Mode: k.Mode,
					GrantSeconds: newKey.GrantSeconds, ExpiresAt: k.ExpiresAt, FixtureVideoID: k.FixtureVideoID,
					RequestID: newKey.RequestID,
				}, err
			}, printIssuedKey)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&mode, "mode", "", "live or test")
	flags.StringVar(&newKey.AccountID, "account", "", "account of the key; when empty, a new account")
	flags.StringVar(&newKey.Name, "name", "", "name of the key")
	flags.Int64Var(&newKey.GrantSeconds, "grant-seconds", 0, "credit-seconds to grant to the account")
	flags.StringVar(&tier, "tier", string(account.Paid), "tier of a new account: paid or free_grant")
	flags.DurationVar(&expiresIn, "expires-in", 0, "lifetime of the key, for example 720h; 0 means that it does not expire")
	return printing(cmd)
}

// checkNewKey refuses flags that no key can have.
func checkNewKey(o command.NewKey, expiresIn time.Duration) error {
	switch {
	case o.Mode != account.Live && o.Mode != account.Test:
		return errors.New("--mode must be live or test")
	case o.Tier != account.Paid && o.Tier != account.FreeGrant:
		return errors.New("--tier must be paid or free_grant")
	case o.GrantSeconds < 0:
		return errors.New("--grant-seconds must not be negative")
	case o.Mode == account.Test && o.GrantSeconds > 0:
		return errors.New("--grant-seconds is for live keys only: a test key uses no credits")
	case expiresIn < 0:
		return errors.New("--expires-in must not be negative")
	}
	return nil
}

func printIssuedKey(s terminal.Screen, k issuedKey) {
	rows := [][2]string{
		{"account", k.AccountID}, {"key", k.KeyID}, {"mode", string(k.Mode)}, {"grant", terminal.Thousands(k.GrantSeconds) + " s"}, {"request", k.RequestID},
	}
	if k.ExpiresAt != nil {
		rows = append(rows, [2]string{"expires", k.ExpiresAt.Format(time.RFC3339)})
	}
	if k.FixtureVideoID != "" {
		rows = append(rows, [2]string{"video", k.FixtureVideoID})
	}
	for _, r := range rows {
		fmt.Fprintf(s, "  %-8s %s\n", r[0], r[1])
	}
	fmt.Fprintf(s, "  %-8s %s\n\n  Store the API key now: it is not shown again.\n", "api key", s.Paint(terminal.Bold, k.APIKey))
}

// listedKey is a key without its secret.
type listedKey struct {
	AccountID string       `json:"account_id"`
	KeyID     string       `json:"key_id"`
	Name      string       `json:"name"`
	Mode      account.Mode `json:"mode"`
	Hint      string       `json:"hint"`
	Status    string       `json:"status"`
	// Legacy is true for a key with the prefix pk_.
	Legacy     bool       `json:"legacy"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

func keysListCommand() *cobra.Command {
	var accountID string
	cmd := &cobra.Command{
		Use:   "list [--account ACCOUNT]",
		Short: "List the API keys of an account",
		Long:  "Lists the API keys of an account. Without --account it is the account of the key in the data folder.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			accountID, err := ownAccount(cmd, accountID)
			if err != nil {
				return err
			}
			return showFrom(cmd, func(ctx context.Context, a *app) ([]listedKey, error) {
				state, err := a.account(ctx, accountID)
				if err != nil {
					return nil, err
				}
				legacy, err := a.config.legacyKeys()
				return listKeys(state, legacy, a.clock.Now()), err
			}, terminal.List(func(k listedKey) []string {
				return []string{k.AccountID, k.KeyID, k.Name, string(k.Mode), "…" + k.Hint, k.Status, k.CreatedAt.Format(time.DateTime)}
			}, "ACCOUNT", "KEY", "NAME", "MODE", "ENDS IN", "STATUS", "CREATED"))
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "account; when empty, the account of the key in the data folder")
	return printing(cmd)
}

// account folds an account from its events. Errors: resource_not_found.
func (a *app) account(ctx context.Context, id string) (account.State, error) {
	history, err := a.store.LoadAll(ctx, eventstore.StreamID{Category: "account", ID: id})
	if err != nil {
		return account.State{}, err
	}
	var s account.State
	for _, r := range history {
		e, ok := r.Event.(account.Event)
		if !ok {
			return s, fmt.Errorf("the stream of account %s contains a %T", id, r.Event)
		}
		s = account.Evolve(s, e)
	}
	if !s.Exists() {
		return s, fault.NotFound("account", id)
	}
	return s, nil
}

// listKeys returns the keys of an account, the newest first.
func listKeys(s account.State, legacy account.LegacyWindow, now time.Time) []listedKey {
	all := slices.SortedFunc(maps.Values(s.Keys), func(a, b account.Key) int {
		return cmp.Or(b.IssuedAt.Compare(a.IssuedAt), cmp.Compare(b.ID, a.ID))
	})
	out := make([]listedKey, 0, len(all))
	for _, k := range all {
		status := "active"
		switch err := k.Check(now); {
		case fault.Has(err, fault.KeyRevoked):
			status = "revoked"
		case fault.Has(err, fault.KeyExpired) || legacy.Check(k, now) != nil:
			status = "expired"
		case err != nil:
			status = "restricted"
		}
		out = append(out, listedKey{
			AccountID: s.ID, KeyID: k.ID, Name: k.Name, Mode: k.Mode, Hint: k.Hint, Status: status,
			Legacy: k.Legacy, CreatedAt: k.IssuedAt, ExpiresAt: k.End(), LastUsedAt: k.LastUsedAt, RevokedAt: k.RevokedAt,
		})
	}
	return out
}

func keysRevokeCommand() *cobra.Command {
	return acting("revoke ACCOUNT KEY", "Revoke an API key immediately", "revoked", func(ctx context.Context, a *app, args []string, request string) error {
		return a.commands.RevokeKey(ctx, args[0], args[1], operator(), request)
	})
}

// restrictionCommand restricts an account, or ends its restriction.
func restrictionCommand(name, short, outcome string, restrict func(s *command.Service, ctx context.Context, accountID, reason, operator, requestID string) error) *cobra.Command {
	var reason string
	cmd := acting(name+" ACCOUNT --reason TEXT", short, outcome, func(ctx context.Context, a *app, args []string, request string) error {
		return restrict(a.commands, ctx, args[0], reason, operator(), request)
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if reason == "" {
			return misuse(cmd, errors.New("--reason is required: the log stores it"))
		}
		return nil
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, stored in the log")
	return cmd
}
