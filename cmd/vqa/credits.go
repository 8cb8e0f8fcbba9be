package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"vqa/domain/credit"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/ledger"
)

// shownTransactions is how many transactions `vqa credits show` prints.
const shownTransactions = 20

func creditsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "credits", Short: "Show and change the credit-seconds of an account"}
	cmd.AddCommand(
		creditsShowCommand(),
		creditsChangeCommand("grant", "Give an account credit-seconds", credit.CardGrant),
		creditsChangeCommand("purchase", "Record credit-seconds that were bought", credit.Purchase),
		creditsChangeCommand("adjust", "Correct a balance, up or down (-- before a negative number)", credit.Adjustment),
	)
	return cmd
}

// shownCredits is a balance and its latest transactions.
type shownCredits struct {
	AccountID        string               `json:"account_id"`
	BalanceSeconds   int64                `json:"balance_seconds"`
	HeldSeconds      int64                `json:"held_seconds"`
	AvailableSeconds int64                `json:"available_seconds"`
	UsedSeconds      int64                `json:"used_seconds"`
	Transactions     []ledger.Transaction `json:"transactions,omitempty"`
}

func showCredits(accountID string, s credit.State) shownCredits {
	return shownCredits{
		AccountID: accountID, BalanceSeconds: s.PostedSeconds, HeldSeconds: s.HeldSeconds,
		AvailableSeconds: s.AvailableSeconds(), UsedSeconds: s.UsedSeconds,
	}
}

func creditsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ACCOUNT",
		Short: "Show the balance and the latest transactions",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withApp(cmd, func(ctx context.Context, a *app) error {
				if _, err := a.account(ctx, args[0]); err != nil {
					return err
				}
				balance, err := a.ledger.Balance(ctx, args[0])
				if err != nil {
					return err
				}
				shown := showCredits(args[0], balance)
				shown.Transactions, _, err = a.ledger.Transactions(ctx, args[0], "", projections.Page{Limit: shownTransactions})
				if err != nil {
					return err
				}
				return printCredits(cmd.OutOrStdout(), shown, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, 1)
}

func creditsChangeCommand(name, short string, kind credit.Kind) *cobra.Command {
	var reason, idempotencyKey string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   name + " ACCOUNT SECONDS --reason TEXT --idempotency-key KEY",
		Short: short,
		Long:  short + ".\n\nA repeated order with the same --idempotency-key changes nothing.",
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := changeOrder(kind, args, reason, idempotencyKey)
			if err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "vqa:", err)
				return exitUsage
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				balance, err := a.commands.GrantCredits(ctx, order)
				if err != nil {
					return err
				}
				return printCredits(cmd.OutOrStdout(), showCredits(order.AccountID, balance), asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the ledger")
	cmd.Flags().StringVar(&idempotencyKey, "idempotency-key", "", "makes a repeated order harmless")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, 2)
}

// changeOrder reads an operator's order.
func changeOrder(kind credit.Kind, args []string, reason, idempotencyKey string) (command.GrantCredits, error) {
	seconds, err := strconv.ParseInt(args[1], 10, 64)
	switch {
	case err != nil:
		return command.GrantCredits{}, fmt.Errorf("SECONDS must be a whole number, not %q", args[1])
	case seconds == 0 || seconds < 0 && kind != credit.Adjustment:
		return command.GrantCredits{}, errors.New("SECONDS must be greater than 0; only adjust takes away")
	case reason == "":
		return command.GrantCredits{}, errors.New("--reason is required: the ledger keeps it")
	case idempotencyKey == "":
		return command.GrantCredits{}, errors.New("--idempotency-key is required: a repeated order must be harmless")
	}
	return command.GrantCredits{
		AccountID: args[0], Kind: kind, Seconds: seconds, Reason: reason, Operator: operator(),
		Idempotency: &command.Idempotency{
			Key:  idempotencyKey,
			Hash: sha256.Sum256(fmt.Appendf(nil, "operator\x00%s\x00%s\x00%d\x00%s", args[0], kind, seconds, reason)),
		},
	}, nil
}

func printCredits(out io.Writer, c shownCredits, asJSON bool) error {
	if asJSON {
		return printJSON(out, c)
	}
	s := newScreen(out)
	fmt.Fprintf(s, "  %s  %s s available", c.AccountID, s.paint(bold, thousands(c.AvailableSeconds)))
	fmt.Fprintf(s, "  (balance %s, held %s, used %s)\n", thousands(c.BalanceSeconds), thousands(c.HeldSeconds), thousands(c.UsedSeconds))
	if len(c.Transactions) == 0 {
		return nil
	}
	t := columns{{"WHEN", "KIND", "SECONDS", "BALANCE", "SOURCE"}}
	for _, x := range c.Transactions {
		source := ""
		if x.SourceID != nil {
			source = *x.SourceID
		}
		delta := thousands(x.SecondsDelta)
		if x.SecondsDelta > 0 {
			delta = "+" + delta
		}
		t = append(t, []string{x.CreatedAt.Format(time.DateTime), string(x.Kind), delta, thousands(x.BalanceAfter), source})
	}
	fmt.Fprintln(s)
	t.print(s)
	return nil
}
