package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The keys in the data folder. Each has one purpose.
const (
	// secretKeyFile signs object URLs and hides addresses, so it must stay the same.
	secretKeyFile = "secret.key"
	// ledgerKeyFile is the seed of the private key that signs checkpoints of the ledger. A
	// lost one is replaced: its public half stays in the log.
	ledgerKeyFile = "ledger.key"
)

// keyBytes is the size of each key.
const keyBytes = 32

// ledgerKey is the private key of this installation's checkpoints.
func ledgerKey(c config) (ed25519.PrivateKey, error) {
	seed, err := keyFile(c.DataDir, ledgerKeyFile)
	if err != nil {
		return nil, fmt.Errorf("the key of the ledger: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// keyFile reads a key of the data folder; the first start makes it, readable by its owner
// only.
func keyFile(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	key, err := os.ReadFile(path)
	if err == nil && len(key) == keyBytes {
		return key, nil
	}
	if err == nil {
		return nil, fmt.Errorf("%s holds %d bytes, not %d", path, len(key), keyBytes)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, keyBytes)
	rand.Read(key)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Postgres runs as another user when we are root
		return nil, err
	}
	temp, err := os.CreateTemp(dir, name+".*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // a key that is linked has another name
	_, err = temp.Write(key)
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return nil, err
	}
	// A link fails when another process was first; then its key counts.
	if err := os.Link(temp.Name(), path); err != nil {
		if errors.Is(err, os.ErrExist) {
			return keyFile(dir, name)
		}
		return nil, err
	}
	return key, nil
}
