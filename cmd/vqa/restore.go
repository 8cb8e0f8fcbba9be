package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/domain/fault"
	"vqa/eventstore/embedded"
	"vqa/handlers/seal"
	"vqa/migrations"
)

func restoreCommand() *cobra.Command {
	return strict(&cobra.Command{
		Use:   "restore FOLDER",
		Short: "Put a backup into a new data folder and an empty database",
		Long: "Puts a backup of vqa backup into VQA_DATA_DIR, which must have no installation, and into an empty database: that of\n" +
			"VQA_DATABASE_URL, or a new embedded one. Then it begins a new log of the ledger, because the restored database\n" +
			"lacks the events since the backup.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			m, err := readManifest(args[0])
			if err == nil {
				err = c.checkRestore(m)
			}
			if err != nil {
				return err
			}
			if err := c.restore(cmd.Context(), args[0], m, cmd.ErrOrStderr()); errors.Is(err, migrations.ErrNotEmpty) {
				return err
			} else if err != nil {
				return fmt.Errorf("the restore is not complete; remove the data folder %s and what is in the database before you try again: %w", c.DataDir, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "restored the backup of %s\nto verify it: vqa ledger verify && vqa projections verify --all\nto start it:  vqa serve\n", m.At.Format(time.RFC3339))
			return nil
		},
	}, "FOLDER")
}

func readManifest(folder string) (m manifest, err error) {
	text, err := os.ReadFile(filepath.Join(folder, backupManifest))
	if errors.Is(err, os.ErrNotExist) {
		return m, fmt.Errorf("%s is not a complete backup: it has no %s", folder, backupManifest)
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// checkRestore checks that the settings name a place for each part of a backup.
func (c config) checkRestore(m manifest) error {
	if _, err := os.Stat(filepath.Join(c.DataDir, secretKeyFile)); err == nil {
		return fmt.Errorf("%s has an installation: name another folder in VQA_DATA_DIR", c.DataDir)
	}
	if entries, err := os.ReadDir(c.objectsFolder()); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s has objects: name another folder", c.objectsFolder())
	}
	switch included := m.Objects == ""; {
	case included && c.objectsFolder() == "":
		return errors.New("the objects of this backup are files: unset VQA_BLOB_URL, or set it to a file:// URL")
	case !included && c.BlobURL == "":
		return fmt.Errorf("this backup has no objects: restore the bucket, and set VQA_BLOB_URL to it; it was %s", m.Objects)
	case m.Anchors != "" && c.LedgerAnchorURL == "":
		return fmt.Errorf("this backup has no checkpoints of the ledger: set VQA_LEDGER_ANCHOR_URL; it was %s", m.Anchors)
	}
	return nil
}

func (c config) restore(ctx context.Context, folder string, m manifest, notices io.Writer) error {
	log := newLogger(notices, c)
	a := &app{config: c, log: log}
	err := a.findDatabase(ctx)
	if err == nil {
		err = a.restoreParts(ctx, folder, m)
	}
	if err := errors.Join(err, a.Close()); err != nil {
		return err
	}
	// The key and the MACs must fit the database.
	if a, err = openApp(ctx, c, log, adapters{}); err != nil {
		return err
	}
	return errors.Join(a.guardError, a.declareRestore(ctx, m), a.Close())
}

func (a *app) restoreParts(ctx context.Context, folder string, m manifest) error {
	err := migrations.Restore(ctx, a.ownerURL, func() error {
		dump := filepath.Join(folder, backupDump)
		list, err := a.dumpList(ctx, dump, m.Postgres)
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(list) }()
		return a.postgresClient(ctx, m.Postgres, "pg_restore", "--no-owner", "--exit-on-error", "--single-transaction", "--use-list="+list, dump)
	})
	if err != nil {
		return err
	}
	if m.Objects == "" {
		if err := copyTree(ctx, filepath.Join(folder, backupObjects), a.config.objectsFolder()); err != nil {
			return err
		}
	}
	return copyFiles(folder, a.config.DataDir)
}

// dumpList writes the list of what to restore of a dump: all but the default privileges, which name the
// owner of the dumped database.
func (a *app) dumpList(ctx context.Context, dump string, major int) (path string, err error) {
	program, err := embedded.Client(ctx, "pg_restore", a.config.PostgresBin, major)
	if err != nil {
		return "", err
	}
	all, err := exec.CommandContext(ctx, program, "--list", dump).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	kept := slices.DeleteFunc(strings.SplitAfter(string(all), "\n"), func(line string) bool { return strings.Contains(line, " DEFAULT ACL ") })
	file, err := os.CreateTemp("", "vqa-restore-*.list")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(strings.Join(kept, ""))
	return file.Name(), errors.Join(err, file.Close())
}

// declareRestore begins a new log of the ledger. The checkpoints cover events that the restored database may
// lack; those that customers kept do so in any case.
func (a *app) declareRestore(ctx context.Context, m manifest) error {
	s, end, err := a.newLogSealer(ctx)
	if err != nil {
		return err
	}
	_, err = s.Restart(ctx, seal.Operator{Name: operator(), Reason: "restored the backup of " + m.At.Format(time.RFC3339)})
	if fault.Has(err, fault.ResourceConflict) {
		err = nil // the log had not begun
	}
	return errors.Join(err, end())
}
