package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func ledgerBundleCommand() *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bundle [ACCOUNT] -o FOLDER|FILE.zip",
		Short: "Write all that it takes to check an account's ledger elsewhere",
		Long: `Writes the account's statement, its entries with the bytes that their hashes are made of, the signed
checkpoints, the public keys, and a program that checks them all:

  python3 FOLDER/verify.py

It needs nothing but Python 3.8. The same ledger gives the same bytes. A checkpoint vouches for what
is in the ledger up to it; ` + "`vqa ledger checkpoint`" + ` signs one now.
The account is by default that of the command line's key.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "" {
				return misuse(cmd, errors.New("-o is required: a folder, or a file that ends in .zip"))
			}
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return withBook(cmd, func(ctx context.Context, a *app, s *book.Snapshot) error {
				if err := s.Known(ctx, accountID); err != nil {
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
					manifest, err = export.WriteBundle(ctx, into, s, a.codec, accountID, step)
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
				return printBundle(cmd.OutOrStdout(), path, manifest, asJSON)
			})
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "folder that does not exist yet, or a file that ends in .zip")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the table of contents as JSON")
	return strict(cmd, "[ACCOUNT]")
}

func printBundle(out io.Writer, path string, m export.Manifest, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, m)
	}
	fmt.Fprintf(out, "%s: %s entries, %s checkpoints", path, terminal.Thousands(m.Entries), terminal.Thousands(m.Checkpoints))
	if open := m.Entries - m.Sealed; open > 0 {
		fmt.Fprintf(out, "; the last %s entries are not sealed yet (vqa ledger checkpoint)", terminal.Thousands(open))
	}
	_, err := fmt.Fprintln(out)
	return err
}

// writeZip makes an archive that is whole or does not exist.
func writeZip(path string, write func(export.Target) error) error {
	return writeFile(path, func(out io.Writer) error {
		archive := zip.NewWriter(out)
		return errors.Join(write(archive), archive.Close())
	})
}

// folder takes files into a directory, one after the other.
type folder struct {
	dir  string
	last *os.File
}

// Create implements export.Target.
func (f *folder) Create(name string) (io.Writer, error) {
	if err := f.close(); err != nil {
		return nil, err
	}
	var err error
	f.last, err = os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return f.last, err
}

func (f *folder) close() error {
	if f.last == nil {
		return nil
	}
	return f.last.Close()
}

// writeFolder makes a folder that is whole or does not exist. One with something in it
// stays as it is.
func writeFolder(path string, write func(export.Target) error) (err error) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a new folder", path)
	}
	path = filepath.Clean(path)
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	into := &folder{dir: dir}
	if err := errors.Join(write(into), into.close()); err != nil {
		return err
	}
	return os.Rename(dir, path)
}
