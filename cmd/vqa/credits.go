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

	"vqa/cmd/vqa/internal/terminal"
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
		creditsRefundCommand(),
	)
	return cmd
}

// shownCredits is a balance and its latest transactions, or the one that an order made.
type shownCredits struct {
	// RequestID and TransactionID name an order in the log and in the ledger; Repeated is
	// true when an earlier order had made it.
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [ACCOUNT]",
		Short: "Show the balance and the latest transactions",
		Long:  "Shows the balance and the latest transactions of an account, by default that of the command line's key.",
		RunE: func(cmd *cobra.Command, args []string) error {
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				if _, err := a.account(ctx, accountID); err != nil {
					return err
				}
				balance, err := a.ledger.Balance(ctx, accountID)
				if err != nil {
					return err
				}
				shown := showCredits(accountID, balance)
				shown.Transactions, _, err = a.ledger.Transactions(ctx, accountID, "", projections.Page{Limit: shownTransactions})
				if err != nil {
					return err
				}
				return printCredits(cmd.OutOrStdout(), shown, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[ACCOUNT]")
}

// orderFlags are what every change of a balance is given with.
type orderFlags struct {
	reason, idempotencyKey string
	asJSON                 bool
}

// placeOrder carries out an operator's order.
type placeOrder func(context.Context, *command.Service) (command.Posted, error)

// orderCommand makes the command of an order. read makes the order from the arguments;
// its error is a misuse.
func orderCommand(use, short string, flags *orderFlags, read func(args []string) (placeOrder, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use + " --reason TEXT --idempotency-key KEY",
		Short: short,
		Long:  short + ".\n\nA repeated order with the same --idempotency-key changes nothing, for 24 hours.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		place, err := read(args)
		if err == nil {
			err = flags.check()
		}
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "vqa:", err)
			return exitUsage
		}
		return withApp(cmd, func(ctx context.Context, a *app) error {
			posted, err := place(ctx, a.commands)
			if err != nil {
				return err
			}
			shown := showCredits(args[0], posted.Balance)
			shown.RequestID, shown.TransactionID, shown.Repeated = posted.RequestID, posted.TransactionID, posted.Repeated
			return printCredits(cmd.OutOrStdout(), shown, flags.asJSON)
		})
	}
	cmd.Flags().StringVar(&flags.reason, "reason", "", "why, for the ledger")
	cmd.Flags().StringVar(&flags.idempotencyKey, "idempotency-key", "", "makes a repeated order harmless")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print JSON")
	return cmd
}

func (f *orderFlags) check() error {
	switch {
	case f.reason == "":
		return errors.New("--reason is required: the ledger keeps it")
	case f.idempotencyKey == "":
		return errors.New("--idempotency-key is required: a repeated order must be harmless")
	}
	return nil
}

// order is the part that all orders share; what tells this one from another goes into
// its hash.
func (f *orderFlags) order(accountID string, what ...any) command.CreditChange {
	hash := sha256.New()
	for _, part := range append([]any{"operator", accountID, f.reason}, what...) {
		fmt.Fprintf(hash, "%v\x00", part)
	}
	return command.CreditChange{
		AccountID: accountID, Reason: f.reason, Operator: operator(), RequestID: newRequestID(),
		Idempotency: &command.Idempotency{Key: f.idempotencyKey, Hash: [sha256.Size]byte(hash.Sum(nil))},
	}
}

// creditsChangeCommand adds to a balance, or corrects it.
func creditsChangeCommand(name, short string, kind credit.Kind) *cobra.Command {
	var flags orderFlags
	ordered := string(kind)
	cmd := orderCommand(name+" ACCOUNT SECONDS", short, &flags, func(args []string) (placeOrder, error) {
		seconds, err := wholeSeconds(args[1])
		switch {
		case err != nil:
			return nil, err
		case seconds == 0 || seconds < 0 && kind != credit.Adjustment:
			return nil, errors.New("SECONDS must be greater than 0; only adjust takes away")
		case kind == credit.CardGrant && ordered != string(credit.CardGrant) && ordered != string(credit.SignupGrant):
			return nil, errors.New("--kind must be card_grant or signup_grant")
		}
		order := command.GrantCredits{CreditChange: flags.order(args[0], ordered, seconds), Kind: credit.Kind(ordered), Seconds: seconds}
		return func(ctx context.Context, s *command.Service) (command.Posted, error) {
			return s.GrantCredits(ctx, order)
		}, nil
	})
	if kind == credit.CardGrant {
		cmd.Flags().StringVar(&ordered, "kind", ordered, "card_grant or signup_grant")
	}
	return strict(cmd, "ACCOUNT", "SECONDS")
}

func creditsRefundCommand() *cobra.Command {
	var flags orderFlags
	cmd := orderCommand("refund ACCOUNT TRANSACTION [SECONDS]", "Undo a transaction, or what is left of it", &flags,
		func(args []string) (placeOrder, error) {
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
			order := command.RefundCredits{
				CreditChange: flags.order(args[0], "refund", args[1], seconds), TransactionID: args[1], Seconds: seconds,
			}
			return func(ctx context.Context, s *command.Service) (command.Posted, error) {
				return s.RefundCredits(ctx, order)
			}, nil
		})
	cmd.Long = "Gives the seconds of a debit back, or takes those of a grant or a purchase away.\n\n" +
		"Without SECONDS, all that earlier refunds left. " +
		"A repeated order with the same\n--idempotency-key changes nothing, for 24 hours."
	return strict(cmd, "ACCOUNT", "TRANSACTION", "[SECONDS]")
}

func wholeSeconds(arg string) (int64, error) {
	seconds, err := strconv.ParseInt(arg, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("SECONDS must be a whole number, not %q", arg)
	}
	return seconds, nil
}

func printCredits(out io.Writer, c shownCredits, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, c)
	}
	s := terminal.NewScreen(out)
	fmt.Fprintf(s, "  %s  %s s available", c.AccountID, s.Paint(terminal.Bold, terminal.Thousands(c.AvailableSeconds)))
	fmt.Fprintf(s, "  (balance %s, held %s, used %s)\n", terminal.Thousands(c.BalanceSeconds), terminal.Thousands(c.HeldSeconds), terminal.Thousands(c.UsedSeconds))
	switch {
	case c.Repeated:
		fmt.Fprintf(s, "  %s was made by an earlier order: nothing changed\n", c.TransactionID)
	case c.TransactionID != "":
		fmt.Fprintf(s, "  %s by %s\n", c.TransactionID, c.RequestID)
	}
	if len(c.Transactions) == 0 {
		return nil
	}
	t := terminal.Table{{"WHEN", "KIND", "SECONDS", "BALANCE", "SOURCE"}}
	for _, x := range c.Transactions {
		source := ""
		if x.SourceID != nil {
			source = *x.SourceID
		}
		t = append(t, []string{x.CreatedAt.Format(time.DateTime), string(x.Kind), terminal.Signed(x.SecondsDelta), terminal.Thousands(x.BalanceAfter), source})
	}
	fmt.Fprintln(s)
	t.Print(s)
	return nil
}
