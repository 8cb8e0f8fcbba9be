package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/ledger"
)

// shownTransactions is the number of transactions that `vqa credits show` prints.
const shownTransactions = 20

func creditsCommand() *cobra.Command {
	return group("credits", "Show and change the credit-seconds of an account",
		creditsShowCommand(),
		creditsChangeCommand("grant", "Grant credit-seconds to an account", credit.CardGrant),
		creditsChangeCommand("purchase", "Record a purchase of credit-seconds", credit.Purchase),
		creditsChangeCommand("adjust", "Correct a balance up or down (write -- before a negative number)", credit.Adjustment),
		creditsRefundCommand(),
	)
}

// shownCredits is a balance with its latest transactions, or with the transaction of one change.
type shownCredits struct {
	// RequestID and TransactionID identify a change in the log and in the ledger. Repeated is true
	// when an earlier call with the same idempotency key made the change.
	RequestID        string               `json:"request_id,omitempty"`
	TransactionID    string               `json:"transaction_id,omitempty"`
	Repeated         bool                 `json:"repeated,omitempty"`
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
	return printing(&cobra.Command{
		Use:   "show [ACCOUNT]",
		Short: "Show the balance and the latest transactions",
		Long:  "Shows the balance and the latest transactions of an account. Without ACCOUNT it is the account of the\nkey in the data folder.",
		RunE: func(cmd *cobra.Command, args []string) error {
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (shown shownCredits, err error) {
				if _, err := a.account(ctx, accountID); err != nil {
					return shown, err
				}
				balance, err := a.ledger.Balance(ctx, accountID)
				if err != nil {
					return shown, err
				}
				shown = showCredits(accountID, balance)
				shown.Transactions, _, err = a.ledger.Transactions(ctx, accountID, "", projections.Page{Limit: shownTransactions})
				return shown, err
			}, printCredits)
		},
	}, "[ACCOUNT]")
}

// changeFlags are the flags that all changes of a balance have in common.
type changeFlags struct{ reason, idempotencyKey string }

// postChange makes the change of an operator.
type postChange func(context.Context, *command.Service) (command.Posted, error)

// changeCommand makes the subcommand of a change. read builds the change from the arguments; its
// error means wrong usage.
func changeCommand(use, short string, flags *changeFlags, read func(args []string) (postChange, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use + " --reason TEXT --idempotency-key KEY",
		Short: short,
		Long:  short + ".\n\nWithin 24 hours, a repeated call with the same --idempotency-key changes nothing.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		post, err := read(args)
		if err == nil {
			err = flags.check()
		}
		if err != nil {
			return misuse(cmd, err)
		}
		return showFrom(cmd, func(ctx context.Context, a *app) (shown shownCredits, err error) {
			posted, err := post(ctx, a.commands)
			shown = showCredits(args[0], posted.Balance)
			shown.RequestID, shown.TransactionID, shown.Repeated = posted.RequestID, posted.TransactionID, posted.Repeated
			return shown, err
		}, printCredits)
	}
	cmd.Flags().StringVar(&flags.reason, "reason", "", "reason of the change, stored in the ledger")
	cmd.Flags().StringVar(&flags.idempotencyKey, "idempotency-key", "", "any text that identifies this change, so that a repetition has no effect")
	return cmd
}

func (f *changeFlags) check() error {
	switch {
	case f.reason == "":
		return errors.New("--reason is required: the ledger stores it")
	case f.idempotencyKey == "":
		return errors.New("--idempotency-key is required: without it, a repeated call would change the balance twice")
	}
	return nil
}

// change returns the part of a change that all kinds have in common. Its hash covers everything that
// distinguishes this change from another one.
func (f *changeFlags) change(accountID string, what ...any) command.CreditChange {
	hash := sha256.New()
	for _, part := range append([]any{"operator", accountID, f.reason}, what...) {
		fmt.Fprintf(hash, "%v\x00", part)
	}
	return command.CreditChange{
		AccountID: accountID, Reason: f.reason, Operator: operator(), RequestID: newRequestID(),
		Idempotency: &command.Idempotency{Key: f.idempotencyKey, Hash: [sha256.Size]byte(hash.Sum(nil))},
	}
}

// creditsChangeCommand makes the subcommand of a grant, a purchase or an adjustment.
func creditsChangeCommand(name, short string, kind credit.Kind) *cobra.Command {
	var flags changeFlags
	kindName := string(kind)
	cmd := changeCommand(name+" ACCOUNT SECONDS", short, &flags, func(args []string) (postChange, error) {
		seconds, err := wholeSeconds(args[1])
		switch {
		case err != nil:
			return nil, err
		case seconds == 0 && kind == credit.Adjustment:
			return nil, errors.New("SECONDS must not be 0")
		case seconds < 1 && kind != credit.Adjustment:
			return nil, errors.New("SECONDS must be greater than 0; use adjust to reduce a balance")
		case kind == credit.CardGrant && kindName != string(credit.CardGrant) && kindName != string(credit.SignupGrant):
			return nil, errors.New("--kind must be card_grant or signup_grant")
		}
		change := command.GrantCredits{CreditChange: flags.change(args[0], kindName, seconds), Kind: credit.Kind(kindName), Seconds: seconds}
		return func(ctx context.Context, s *command.Service) (command.Posted, error) {
			return s.GrantCredits(ctx, change)
		}, nil
	})
	if kind == credit.Adjustment {
		cmd.Example = `  vqa credits adjust acct_01JZ… 12 --reason "billed twice" --idempotency-key K
  vqa credits adjust acct_01JZ… --reason "granted twice" --idempotency-key K2 -- -6000`
	}
	if kind == credit.CardGrant {
		cmd.Flags().StringVar(&kindName, "kind", kindName, "card_grant or signup_grant")
	}
	return printing(cmd, "ACCOUNT", "SECONDS")
}

func creditsRefundCommand() *cobra.Command {
	var flags changeFlags
	cmd := changeCommand("refund ACCOUNT TRANSACTION [SECONDS]", "Undo a transaction, or the part that was not refunded yet", &flags,
		func(args []string) (postChange, error) {
			var seconds int64
			if len(args) == 3 {
				var err error
				if seconds, err = wholeSeconds(args[2]); err != nil {
					return nil, err
				}
				if seconds < 1 {
					return nil, errors.New("SECONDS must be greater than 0")
				}
			}
			change := command.RefundCredits{
				CreditChange: flags.change(args[0], "refund", args[1], seconds), TransactionID: args[1], Seconds: seconds,
			}
			return func(ctx context.Context, s *command.Service) (command.Posted, error) {
				return s.RefundCredits(ctx, change)
			}, nil
		})
	cmd.Long = "Returns the seconds of a debit to the account, or takes back the seconds of a grant or a purchase.\n\n" +
		"Without SECONDS it refunds everything that earlier refunds left. Within 24 hours, a repeated call\n" +
		"with the same --idempotency-key changes nothing."
	return printing(cmd, "ACCOUNT", "TRANSACTION", "[SECONDS]")
}

func wholeSeconds(arg string) (int64, error) {
	seconds, err := strconv.ParseInt(arg, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("SECONDS must be a whole number, not %q", arg)
	}
	return seconds, nil
}

func printCredits(s terminal.Screen, c shownCredits) {
	fmt.Fprintf(s, "  %s  %s s available", c.AccountID, s.Paint(terminal.Bold, terminal.Thousands(c.AvailableSeconds)))
	fmt.Fprintf(s, "  (balance %s, held %s, used %s)\n", terminal.Thousands(c.BalanceSeconds), terminal.Thousands(c.HeldSeconds), terminal.Thousands(c.UsedSeconds))
	switch {
	case c.Repeated:
		fmt.Fprintf(s, "  nothing changed: an earlier call with this idempotency key made %s\n", c.TransactionID)
	case c.TransactionID != "":
		fmt.Fprintf(s, "  %s, request %s\n", c.TransactionID, c.RequestID)
	}
	if len(c.Transactions) == 0 {
		return
	}
	fmt.Fprintln(s)
	terminal.List(func(x ledger.Transaction) []string {
		source := ""
		if x.SourceID != nil {
			source = *x.SourceID
		}
		return []string{x.CreatedAt.Format(time.DateTime), string(x.Kind), terminal.Signed(x.SecondsDelta), terminal.Thousands(x.BalanceAfter), source}
	}, "WHEN", "KIND", "SECONDS", "BALANCE", "SOURCE")(s, c.Transactions)
}
