package postgres

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"vqa/eventstore"
)

// nonceBytes is the size of a nonce: too many values to try them all.
const nonceBytes = 16

// withNonces returns a copy of the batch in which each event has a nonce. Without a source of randomness
// it returns the batch.
func (s *Store) withNonces(batch eventstore.Batch) (eventstore.Batch, error) {
	if s.entropy == nil {
		return batch, nil
	}
	n := 0
	for _, w := range batch.Writes {
		n += len(w.Events)
	}
	random := make([]byte, n*nonceBytes)
	if _, err := io.ReadFull(s.entropy, random); err != nil {
		return batch, fmt.Errorf("append: read random bytes: %w", err)
	}
	batch.Writes = slices.Clone(batch.Writes)
	for i := range batch.Writes {
		events := slices.Clone(batch.Writes[i].Events)
		for j := range events {
			if events[j].Meta.Nonce == "" {
				events[j].Meta.Nonce = hex.EncodeToString(random[:nonceBytes])
			}
			random = random[nonceBytes:]
		}
		batch.Writes[i].Events = events
	}
	return batch, nil
}
