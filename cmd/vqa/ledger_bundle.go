package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/translog"
	"vqa/handlers/prove"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

const ledgerBundleHelp = `Writes the account's statement, its entries with the exact bytes that were hashed, and the proofs from the
transparency log: each entry is a leaf of the tree that the newest checkpoint signs, the sealed balance of the
account is the one of the statement, and the log still contains an older checkpoint. A program verifies it all:

  python3 FOLDER/verify.py --key KEY
  sh FOLDER/drill.sh KEPT KEY

The programs need only Python 3.8, and no network. KEY is the public key of the log, as ` + "`vqa ledger keys list`" + `
prints it. KEPT is a checkpoint, a proof or an older bundle that the auditor kept; give the same file to --since.

The bundle has the entries up to the last seal; ` + "`vqa ledger checkpoint`" + ` seals now. The same checkpoints always give
the same bytes. Without ACCOUNT, the bundle is for the account of the key in the data folder. An account without
an entry at the seal is proven by its two neighbors in the tree: the bundle shows the ids and balances of those.`

func ledgerBundleCommand() *cobra.Command {
	var path, since string
	cmd := &cobra.Command{
		Use:   "bundle [ACCOUNT] -o FOLDER|FILE.zip",
		Short: "Write a folder with which an auditor can verify an account's ledger offline",
		Long:  ledgerBundleHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "" {
				return misuse(cmd, errors.New("-o is required: a new folder, or a file that ends in .zip"))
			}
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				evidence, err := a.evidence(ctx, accountID, since)
				if err != nil {
					return err
				}
				return a.writeBundle(ctx, cmd, accountID, path, evidence)
			})
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "new folder, or a file that ends in .zip")
	cmd.Flags().StringVar(&since, "since", "", "a checkpoint, a .tlog-proof or a bundle from the past that the log must contain; without it, the oldest checkpoint of the log")
	cmd.Flags().Bool("json", false, "print the table of contents as JSON")
	return strict(cmd, "[ACCOUNT]")
}

// evidence proves the ledger of an account.
func (a *app) evidence(ctx context.Context, accountID, since string) (*translog.Evidence, error) {
	var older []byte
	if since != "" {
		past, err := a.readPast(ctx, "--since", since)
		if err != nil {
			return nil, err
		}
		older = past.signed
	}
	tiles, anchors, end, err := a.ledgerPlaces(ctx)
	if err != nil {
		return nil, err
	}
	p := prove.Prover{Rows: a.store, Codec: a.codec, Anchors: anchors, Tiles: tiles}
	e, err := p.Ledger(ctx, accountID, older)
	return e, errors.Join(err, end())
}

// writeBundle writes the entries of a snapshot that is younger than the evidence.
func (a *app) writeBundle(ctx context.Context, cmd *cobra.Command, accountID, path string, evidence *translog.Evidence) error {
	s, err := book.Open(ctx, a.pool, a.codec)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Known(ctx, accountID); err != nil {
		return err
	}
	all, err := s.Count(ctx, accountID)
	if err != nil {
		return err
	}
	step, finish, err := entryProgress(ctx, cmd, s, "bundling", accountID)
	if err != nil {
		return err
	}
	defer finish()
	var manifest export.Manifest
	write := func(into export.Target) error {
		var err error
		manifest, err = export.WriteBundle(ctx, into, s, a.codec, accountID, evidence, step)
		return err
	}
	if strings.HasSuffix(path, ".zip") {
		err = writeZip(path, write)
	} else {
		err = writeFolder(path, write)
	}
	finish()
	if err != nil {
		return err
	}
	for _, p := range evidence.Accounts {
		if other := p.Account.ID; other != accountID {
			fmt.Fprintf(cmd.ErrOrStderr(), "the bundle shows the balance of %s, a neighbor, because %s has no entry at the seal\n", other, accountID)
		}
	}
	return show(cmd, manifest, func(s terminal.Screen, m export.Manifest) {
		fmt.Fprintf(s, "%s: %s entries, proven by the checkpoint of %s leaves", path, terminal.Thousands(m.Entries), terminal.Thousands(m.Size))
		if later := all - m.Entries; later > 0 {
			fmt.Fprintf(s, "; %s later entries are not sealed yet (vqa ledger checkpoint)", terminal.Thousands(later))
		}
		fmt.Fprintln(s)
	})
}
