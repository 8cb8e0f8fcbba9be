package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vqa/eventstore"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
)

// macDecisionFile is the copy of the decision about MACs in the data folder. Somebody who controls the
// database can remove the decision there, but not this file.
const macDecisionFile = "mac-decision.json"

// macsEvery is how often a node looks for a decision of another one.
const macsEvery = 10 * time.Second

// macKeys returns the keys of the MACs of events, the newest first. They are derived from the secret key
// of the installation and from the one before it.
func macKeys(c config, key []byte) (keys [][]byte, err error) {
	const purpose = "events"
	keys = [][]byte{derivedKey(key, purpose)}
	old, err := os.ReadFile(filepath.Join(c.DataDir, oldSecretKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return keys, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the old secret key of the installation: %w", err)
	}
	return append(keys, derivedKey(old, purpose)), nil
}

// openGuard opens the guard of the log. On the first start of an installation it records the secret key,
// and decides that MACs are demanded. Without the secret key of the installation, only tools may run, and
// they cannot append.
func (a *app) openGuard(ctx context.Context, serving bool) (postgres.Option, error) {
	err := a.guardLog(ctx, serving)
	var mismatch *node.MismatchError
	switch {
	case err == nil:
		return postgres.WithGuard(a.guard), nil
	case serving && !errors.As(err, &mismatch): // confirmInstallation reports all mismatches together
		return nil, fmt.Errorf("this node does not serve, because it cannot tell rows of the service from others: %w", err)
	default:
		a.guard, a.guardError = nil, err
		return postgres.WithoutAppend(fmt.Errorf("this tool cannot change the log: %w", err)), nil
	}
}

func (a *app) guardLog(ctx context.Context, serving bool) error {
	key, err := keyFile(a.config.DataDir, secretKeyFile)
	if err != nil {
		return fmt.Errorf("reading the secret key of the installation: %w", err)
	}
	by := operator()
	if serving {
		host, err := hostname()
		if err != nil {
			return err
		}
		by = "node on " + host
	}
	if err := (node.Installation{Pool: a.pool, Key: key, By: by}).ConfirmKey(ctx); err != nil {
		return err
	}
	return a.guardWith(ctx, key, by)
}

// guardWith opens the guard with a key, and decides on an empty log.
func (a *app) guardWith(ctx context.Context, key []byte, by string) error {
	keys, err := macKeys(a.config, key)
	if err != nil {
		return err
	}
	var other *eventstore.ForgedError
	if a.guard, err = postgres.OpenGuard(ctx, a.pool, keys[0], keys[1:]...); errors.As(err, &other) {
		return fmt.Errorf("%w; restore the key as %s, or when it is lost, run: vqa ledger demand-macs --lost-key --reason TEXT", err, oldSecretKeyFile)
	}
	if err != nil {
		return err
	}
	a.guard.Found = a.forged.note
	kept, err := a.keptDecision()
	if err != nil {
		return err
	}
	if kept {
		a.guard.Demand()
	}
	older, err := a.olderNodes(ctx)
	if err == nil && older == 0 {
		err = a.guard.DecideIfEmpty(ctx, by, a.clock.Now())
	}
	if err != nil {
		return err
	}
	return a.keepDecision(ctx)
}

// olderNodes counts the nodes of earlier releases, which may not compute MACs.
func (a *app) olderNodes(ctx context.Context) (n int, err error) {
	nodes, err := livingNodes(ctx, a.pool)
	for _, one := range nodes {
		if one.Generation < macGeneration {
			n++
		}
	}
	return n, err
}

// macGeneration is the generation of the first release that computes MACs.
const macGeneration = 30

// keptFile is the content of macDecisionFile.
type keptFile struct {
	// Database is the id in the table log_identity.
	Database string `json:"database"`
	postgres.Decision
}

// keptDecision reports whether the data folder has the decision that MACs are demanded. Error: the
// decision of another database, because somebody may have replaced the id of this one.
func (a *app) keptDecision() (bool, error) {
	path := filepath.Join(a.config.DataDir, macDecisionFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	var kept keptFile
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	if kept.Database != a.guard.Installation() {
		return false, fmt.Errorf("%s belongs to the database with the id %s, and this one has %s; when you moved this data folder to another database on purpose, remove the file",
			path, kept.Database, a.guard.Installation())
	}
	return true, nil
}

// keepDecision writes the decision into the data folder, and warns when the database has lost it.
func (a *app) keepDecision(ctx context.Context) error {
	d, decided, err := a.guard.Newest(ctx)
	if err != nil {
		return err
	}
	if !decided {
		if a.guard.Demanded() {
			a.forged.lostDecision()
		}
		return nil
	}
	text, err := json.MarshalIndent(keptFile{a.guard.Installation(), d}, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(a.config.DataDir, macDecisionFile)
	if before, err := os.ReadFile(path); err == nil && string(before) == string(text) {
		return nil
	}
	return writeAtomically(path, text)
}

// writeAtomically replaces a file.
func writeAtomically(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // a file that was renamed is gone
	_, err = temp.Write(text)
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// watchDecision looks for a decision of another node until ctx ends.
func (a *app) watchDecision(ctx context.Context) {
	ticker := time.NewTicker(macsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := a.keepDecision(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("could not read the decision about MACs; trying again", "error", err)
		}
	}
}
