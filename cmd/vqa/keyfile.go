package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vqa/handlers/vault"
)

// The files of the secret keys in the data folder. Each key has one purpose.
const (
	// secretKeyFile signs object URLs, hashes client addresses and encrypts the secrets of webhook
	// endpoints, so it must not change.
	secretKeyFile = "secret.key"
	// oldSecretKeyFile is the secret key before the current one. It checks the MACs of older events and
	// decrypts the secrets of webhook endpoints that were made with it. A name that begins with it has a
	// key from before that.
	oldSecretKeyFile = "secret.key.old"
	// ledgerKeyFile is the seed of the private key that signs checkpoints of the ledger. It can be
	// replaced when it is lost: the log contains the public keys.
	ledgerKeyFile = "ledger.key"
)

// keyBytes is the size of each key in bytes.
const keyBytes = 32

// ledgerKey returns the private key that signs this installation's checkpoints.
func ledgerKey(c config) (ed25519.PrivateKey, error) {
	seed, err := keyFile(c.DataDir, ledgerKeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the key of the ledger: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// webhookVault returns the vault for the secrets of webhook endpoints. It encrypts with the secret key
// of the installation, and also decrypts with the older ones.
func webhookVault(c config, key []byte) (*vault.Vault, error) {
	const purpose = "webhook secrets"
	older, err := olderKeys(c)
	if err != nil {
		return nil, err
	}
	for i := range older {
		older[i] = derivedKey(older[i], purpose)
	}
	return vault.New(derivedKey(key, purpose), older...)
}

// olderKeys returns the secret keys that were replaced.
func olderKeys(c config) (keys [][]byte, err error) {
	files, err := os.ReadDir(c.DataDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("finding the older secret keys of the installation: %w", err)
	}
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), oldSecretKeyFile) {
			continue
		}
		path := filepath.Join(c.DataDir, file.Name())
		key, err := os.ReadFile(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading an older secret key of the installation: %w", err)
		case len(key) != keyBytes:
			return nil, fmt.Errorf("%s has %d bytes instead of %d: restore it", path, len(key), keyBytes)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// keyFile reads a key from the data folder. The first start creates it; only its owner can read it.
func keyFile(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	key, err := os.ReadFile(path)
	if err == nil && len(key) == keyBytes {
		return key, nil
	}
	if err == nil {
		return nil, fmt.Errorf("%s has %d bytes instead of %d", path, len(key), keyBytes)
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
	// The link fails when another process has created the file. Then its key is used.
	if err := os.Link(temp.Name(), path); err != nil {
		if errors.Is(err, os.ErrExist) {
			return keyFile(dir, name)
		}
		return nil, err
	}
	return key, nil
}

// derivedKey derives a key for one purpose from the secret key of the installation, so that no key
// has two purposes.
func derivedKey(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}
