package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"time"

	"vqa/domain/credit"
	"vqa/handlers/anchor"
	"vqa/handlers/seal"
	"vqa/projections/ledger/audit"
)

// ledgerPins returns the keys of VQA_LEDGER_KEYS.
func (c config) ledgerPins() ([]ed25519.PublicKey, error) {
	var pins []ed25519.PublicKey
	for _, text := range c.LedgerKeys {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, wrongValue("VQA_LEDGER_KEYS", text, "must be ed25519 public keys of 32 bytes in base64, as vqa ledger keys list prints them")
		}
		pins = append(pins, key)
	}
	return pins, nil
}

// checkLedger checks the settings of the transparency log.
func (c config) checkLedger() error {
	if c.LedgerLock < 0 {
		return wrongValue("VQA_LEDGER_LOCK", c.LedgerLock, "must not be negative")
	}
	if u, err := url.Parse(c.LedgerAnchorURL); err != nil || c.LedgerAnchorURL != "" && u.Scheme != "file" && u.Scheme != "s3" {
		return errors.New("configuration: VQA_LEDGER_ANCHOR_URL must be a file:// or s3:// URL")
	}
	if _, err := c.ledgerPins(); err != nil {
		return err
	}
	return c.checkWitnesses()
}

// ledgerPlaces opens the place of the tiles, which is the object store, and that of the anchors. The caller calls
// end afterwards.
func (a *app) ledgerPlaces(ctx context.Context) (tiles *anchor.Place, anchors seal.Anchors, end func() error, err error) {
	c := a.config
	if anchors.Pins, err = c.ledgerPins(); err != nil {
		return nil, anchors, nil, err
	}
	if _, anchors.Witnesses, err = c.witnesses(); err != nil {
		return nil, anchors, nil, err
	}
	tiles, err = anchor.Open(ctx, anchor.Options{URL: c.BlobURL, Dir: c.objectsDir(), LockFor: c.LedgerLock, Now: a.clock.Now})
	if err != nil {
		return nil, anchors, nil, err
	}
	if anchors.Files = tiles; c.LedgerAnchorURL == "" {
		return tiles, anchors, tiles.Close, nil
	}
	outside, err := anchor.Open(ctx, anchor.Options{URL: c.LedgerAnchorURL, LockFor: c.LedgerLock, Now: a.clock.Now})
	if err != nil {
		return nil, anchors, nil, errors.Join(fmt.Errorf("opening VQA_LEDGER_ANCHOR_URL: %w", err), tiles.Close())
	}
	anchors.Files = outside
	return tiles, anchors, func() error { return errors.Join(tiles.Close(), outside.Close()) }, nil
}

// newLogSealer returns the sealer of the transparency log, which signs with the key in the data folder. The
// caller calls end afterwards.
func (a *app) newLogSealer(ctx context.Context) (s *seal.Sealer, end func() error, err error) {
	key, err := ledgerKey(a.config)
	if err != nil {
		return nil, nil, err
	}
	return a.logSealerWith(ctx, key)
}

func (a *app) logSealerWith(ctx context.Context, key ed25519.PrivateKey) (s *seal.Sealer, end func() error, err error) {
	public, err := url.Parse(a.config.PublicURL)
	if err != nil {
		return nil, nil, err
	}
	witnesses, _, err := a.config.witnesses()
	if err != nil {
		return nil, nil, err
	}
	tiles, anchors, end, err := a.ledgerPlaces(ctx)
	if err != nil {
		return nil, nil, err
	}
	s = seal.New(seal.Options{
		Events: a.store, Commands: a.commands, Codec: a.codec, Anchors: anchors, Tiles: tiles,
		Witnesses: witnesses, Quorum: a.config.LedgerWitnessQuorum,
		Key: key, Origin: public.Host + "/ledger/" + credit.LedgerKeyID(key.Public().(ed25519.PublicKey)),
		Audit: a.auditAll, Now: a.clock.Now, Machine: time.Now, Log: a.log,
	})
	return s, end, nil
}

// openLogSealer opens the sealer of the service.
func (s *server) openLogSealer(ctx context.Context) error {
	sealer, end, err := s.newLogSealer(ctx)
	if err != nil {
		return err
	}
	s.logSealer, s.closers = sealer, append(s.closers, end)
	return nil
}

// auditAll verifies every ledger and every chain, and returns the first mismatch, or "".
func (a *app) auditAll(ctx context.Context) (string, error) {
	report, err := a.auditor().Verify(ctx, audit.Scope{AllStreams: true}, func(int64, int64) {})
	if err != nil || report.Sound() {
		return "", err
	}
	if len(report.Mismatches) == 0 {
		return "the ledger accounts do not sum to zero", nil
	}
	m := report.Mismatches[0]
	return fmt.Sprintf("position %d, stream %s, version %d: %s: %s", m.Position, m.Stream, m.Version, m.Kind, m.Detail), nil
}

// ownAlarms returns the alarms that only this node knows.
func (s *server) ownAlarms() []alarm { return append(s.forged.alarms(), ledgerAlarms(s.logSealer)...) }

// ledgerAlarms returns the alarms of the transparency log.
func ledgerAlarms(s *seal.Sealer) (raised []alarm) {
	if away := s.Unwitnessed(); away != nil {
		raised = append(raised, alarm{alarmUnwitnessed, "ledger", away.Error(), "make the witnesses reachable, and see: vqa ledger witnesses"})
	}
	if found := s.Found(); found != nil {
		return append(raised, alarm{
			alarmLedger, "ledger", found.Error(),
			fixFinding,
		})
	}
	if err := s.Unsealed(); err != nil {
		raised = append(raised, alarm{alarmUnsealed, "ledger", "new events are not sealed: " + err.Error(), "make the anchors reachable, or approve the key of this node"})
	}
	return raised
}
