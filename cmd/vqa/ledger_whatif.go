package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/projections/ledger/book"
)

// maxPricingBytes bounds the file with prices.
const maxPricingBytes = 64 << 10

func ledgerWhatIfCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "whatif [ACCOUNT] --pricing FILE",
		Short: "Show what the same work would have cost under other prices",
		Long: `Folds the history of every account under other prices and compares the bills. It reads in a read-only
transaction and writes nothing.

FILE is JSON. A field that is left out keeps its current value. Decimals can be strings:

  {
    "price_per_second_cents": "0.45",
    "batch_discount_pct": 40,
    "analysis": {"factor": "1", "minimum_seconds": 10, "rounding_seconds": 5},
    "stream":   {"factor": "1.5", "minimum_seconds": 0, "rounding_seconds": 60}
  }

  price_per_second_cents  price of a credit-second; currently VQA_PRICE_PER_SECOND_CENTS
  batch_discount_pct      discount for all discounted work, 0 to 100
  factor                  multiplies the seconds, 0 to 1000
  minimum_seconds         smallest bill, unless the work was free
  rounding_seconds        seconds are rounded up to a multiple of this

The billed seconds are computed in this order: length, less the discount rounded down, times the factor
rounded up, at least minimum_seconds, rounded up to a multiple of rounding_seconds. The length of discounted work is
computed from its bill. When a bill was cut because the credits ended, only the billed part is known. A
refund returns the same share. Grants and purchases keep their seconds.

An account "runs out" when its available credits would have become negative. From then on its work would
have been refused, or its bill cut.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "" {
				return misuse(cmd, errors.New("--pricing is required: a JSON file with the other prices"))
			}
			file, err := readSmall(path, maxPricingBytes)
			if err != nil {
				return err
			}
			return showFrom(cmd, booked(args, func(ctx context.Context, a *app, s *book.Snapshot) (result book.WhatIf, err error) {
				now := book.Same(a.config.PricePerSecondCents)
				then, err := book.ParsePricing(file, now)
				if err != nil {
					return result, fmt.Errorf("%s: %w", path, err)
				}
				step, finish, err := entryProgress(ctx, cmd, s, "folding", optional(args))
				if err != nil {
					return result, err
				}
				defer finish()
				return s.WhatIf(ctx, now, then, optional(args), step)
			}), finance.PrintWhatIf)
		},
	}
	cmd.Flags().StringVar(&path, "pricing", "", "JSON file with the other prices")
	return printing(cmd, "[ACCOUNT]")
}
