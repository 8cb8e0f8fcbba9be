package main

import (
	"context"
	"errors"
	"fmt"

	"vqa/eventstore"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
)

// macKeys returns the keys of the MACs of events, the newest first. They are derived from the secret key
// of the installation and from those before it.
func macKeys(c config, key []byte) (keys [][]byte, err error) {
	older, err := olderKeys(c)
	if err != nil {
		return nil, err
	}
	for _, secret := range append([][]byte{key}, older...) {
		keys = append(keys, derivedKey(secret, "events"))
	}
	return keys, nil
}

// openGuard opens the guard of the log. On the first start of an installation it records the secret key.
// Without the secret key of the installation, only tools may run, and they cannot append.
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
	keys, err := macKeys(a.config, key)
	if err != nil {
		return err
	}
	var other *eventstore.ForgedError
	if a.guard, err = postgres.OpenGuard(ctx, a.pool, keys[0], keys[1:]...); errors.As(err, &other) {
		return fmt.Errorf("%w; restore the key that was replaced as %s", err, oldSecretKeyFile)
	}
	if err != nil {
		return err
	}
	a.guard.Found = a.forged.note
	return nil
}
