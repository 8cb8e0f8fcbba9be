package node

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Part is a thing that all nodes of a database share beside it.
type Part string

// The parts.
const (
	SecretKey   Part = "secret_key"
	ObjectStore Part = "object_store"
)

const (
	// installationLock is the key of the advisory lock under which a node records a part.
	installationLock = 0x7671_6970_6172_74
	// installationTimeout bounds a comparison, which reads one object.
	installationTimeout = 30 * time.Second
	// keyPurpose is the text whose HMAC identifies a key. It must never change.
	keyPurpose = "fingerprint of the secret key of a vqa installation"
	// undefinedTable is the code of Postgres for a table that no migration has created yet.
	undefinedTable = "42P01"
)

// IdentifiedStore is an object store that can keep an id.
type IdentifiedStore interface {
	// InstallationID returns the id, or "" when the store has none.
	InstallationID(ctx context.Context) (string, error)
	SetInstallationID(ctx context.Context, id string) error
}

// MismatchError says that a part of this node is not the one that its database has recorded.
type MismatchError struct {
	Part    Part
	Problem string
	// Remedy says what the operator must do.
	Remedy string
}

// Error implements error.
func (e *MismatchError) Error() string { return e.Problem + ": " + e.Remedy }

// Installation compares the parts of this node with the recorded ones.
type Installation struct {
	Pool  *pgxpool.Pool
	Key   []byte
	Store IdentifiedStore
	// By is the node or the operator that records a part.
	By string
}

// Confirm returns a [MismatchError] for each part that differs from the recorded one. It records parts
// that have no record yet. The first node of a database does that, for all nodes.
func (i Installation) Confirm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, installationTimeout)
	defer cancel()
	complete, err := Compare(ctx, i.Pool, i.Key, i.Store)
	if err != nil || complete {
		return err
	}
	return i.locked(ctx, func(tx pgx.Tx) error {
		// Another node may have recorded its parts before this one took the lock.
		recorded, err := recordedParts(ctx, tx)
		if err != nil {
			return err
		}
		for _, part := range []Part{SecretKey, ObjectStore} {
			if recorded[part] != "" {
				continue
			}
			if err := i.record(ctx, tx, part); err != nil {
				return err
			}
		}
		_, err = Compare(ctx, tx, i.Key, i.Store)
		return err
	})
}

// ConfirmKey is Confirm for the secret key alone. Store may be nil.
func (i Installation) ConfirmKey(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, installationTimeout)
	defer cancel()
	recorded, err := recordedParts(ctx, i.Pool)
	if err == nil && recorded[SecretKey] == "" {
		err = i.locked(ctx, func(tx pgx.Tx) error {
			// Another node may have recorded its key before this one took the lock.
			if recorded, err = recordedParts(ctx, tx); err != nil || recorded[SecretKey] != "" {
				return err
			}
			recorded[SecretKey] = keyFingerprint(i.Key)
			return i.record(ctx, tx, SecretKey)
		})
	}
	if err != nil {
		return err
	}
	return compareKey(recorded, i.Key)
}

// compareKey returns a [MismatchError] when another secret key is recorded.
func compareKey(recorded map[Part]string, key []byte) error {
	if want := recorded[SecretKey]; want == "" || want == keyFingerprint(key) {
		return nil
	}
	return &MismatchError{
		Part:    SecretKey,
		Problem: "the secret key of this node (secret.key in VQA_DATA_DIR) is not the key that the database has recorded",
		Remedy:  "copy secret.key from the data folder of another node, or after a deliberate change of the key, stop all nodes and run: vqa nodes adopt --key",
	}
}

// Adopt records a part of this node as the one of all nodes. It reports whether that changed the record.
func (i Installation) Adopt(ctx context.Context, part Part) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, installationTimeout)
	defer cancel()
	err = i.locked(ctx, func(tx pgx.Tx) error {
		recorded, err := recordedParts(ctx, tx)
		if err != nil {
			return err
		}
		now, err := fingerprint(ctx, part, i.Key, i.Store)
		if err != nil || now != "" && now == recorded[part] {
			return err
		}
		changed = true
		return i.record(ctx, tx, part)
	})
	return changed, err
}

// locked runs do in a transaction, while no other node records a part.
func (i Installation) locked(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, i.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(installationLock)); err != nil {
			return fmt.Errorf("record the parts of the installation: %w", err)
		}
		return do(tx)
	})
}

// record adds a record of a part. A store without an id gets a new one first. When the transaction then
// fails, the next attempt finds that id and records it.
func (i Installation) record(ctx context.Context, tx pgx.Tx, part Part) error {
	now, err := fingerprint(ctx, part, i.Key, i.Store)
	if err != nil {
		return err
	}
	if now == "" {
		now = rand.Text()
		if err := i.Store.SetInstallationID(ctx, now); err != nil {
			return fmt.Errorf("write the id of the installation into the object store: %w", err)
		}
	}
	_, err = tx.Exec(ctx, "insert into installation_parts (part, fingerprint, recorded_by) values ($1, $2, $3)", part, now, i.By)
	if err != nil {
		return fmt.Errorf("record the %s of the installation: %w", part, err)
	}
	return nil
}

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Compare compares the secret key and the object store of this node with the recorded ones and writes
// nothing. complete is false when a part has no record yet. The error has a [MismatchError] for each
// part that differs. key is nil when this node has none.
func Compare(ctx context.Context, db querier, key []byte, store IdentifiedStore) (complete bool, err error) {
	recorded, err := recordedParts(ctx, db)
	if err != nil {
		return false, err
	}
	err = errors.Join(compareKey(recorded, key))
	if want := recorded[ObjectStore]; want != "" {
		now, errRead := fingerprint(ctx, ObjectStore, key, store)
		if errRead != nil {
			return false, errors.Join(err, errRead)
		}
		if now != want {
			err = errors.Join(err, otherStore(now == ""))
		}
	}
	return recorded[SecretKey] != "" && recorded[ObjectStore] != "", err
}

func otherStore(missing bool) error {
	found := "has another id"
	if missing {
		found = "is missing"
	}
	return &MismatchError{
		Part:    ObjectStore,
		Problem: "the object store of this node (VQA_BLOB_URL, or objects/ in VQA_DATA_DIR) is not the store that the database has recorded, because its object installation/id " + found,
		Remedy:  "set VQA_BLOB_URL to the store of the other nodes, or after you moved the objects, stop all nodes and run: vqa nodes adopt --store",
	}
}

// recordedParts returns the newest fingerprint of each part.
func recordedParts(ctx context.Context, db querier) (map[Part]string, error) {
	recorded := map[Part]string{}
	rows, err := db.Query(ctx, "select part, fingerprint from installation_parts order by id")
	if err == nil {
		var part Part
		var mark string
		_, err = pgx.ForEachRow(rows, []any{&part, &mark}, func() error {
			recorded[part] = mark
			return nil
		})
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == undefinedTable {
		return recorded, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the recorded parts of the installation: %w", err)
	}
	return recorded, nil
}

// fingerprint identifies a part of this node. It is "" for a store without an id.
func fingerprint(ctx context.Context, part Part, key []byte, store IdentifiedStore) (string, error) {
	if part == SecretKey {
		return keyFingerprint(key), nil
	}
	id, err := store.InstallationID(ctx)
	if err != nil {
		return "", fmt.Errorf("read the id of the installation from the object store (VQA_BLOB_URL, or objects/ in VQA_DATA_DIR): %w", err)
	}
	return id, nil
}

// keyFingerprint identifies a key without revealing it.
func keyFingerprint(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(keyPurpose))
	return hex.EncodeToString(mac.Sum(nil))
}
