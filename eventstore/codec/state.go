package codec

import (
	"encoding/json"
	"slices"
	"sync"

	"vqa/domain/credit"
)

// MarshalState returns the JSON of a folded state or of another document of a read model.
// The bytes are those of json.Marshal.
//
// An account's balance is written with every append that touches it, and contains all open
// holds. MarshalState therefore encodes each open hold only once.
func MarshalState(state any) ([]byte, error) {
	balance, ok := state.(credit.State)
	if !ok || balance.Holds.IsZero() {
		return json.Marshal(state)
	}
	members, err := holdMembers.of(balance.Holds)
	if err != nil {
		return nil, err
	}
	balance.Holds = credit.Holds{}
	rest, err := json.Marshal(balance)
	if err != nil {
		return nil, err
	}
	const before, after = `,"holds":{`, `}}`
	size := len(rest) + len(before) + len(after)
	for _, m := range members {
		size += len(m) + 1
	}
	out := append(make([]byte, 0, size), rest[:len(rest)-1]...)
	out = append(out, before...)
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	return append(out, after...), nil
}

// holdMembers is shared by all accounts of the process.
var holdMembers memberCache

// memberCacheSize bounds each of the two maps of a memberCache. An entry takes about 500
// bytes, so the cache takes at most 16 MB.
const memberCacheSize = 1 << 14

// memberCache keeps the encoded form of open holds, as members of a JSON object. When the
// newer map is full it becomes the older one, and the older one is dropped. A hold that is
// still in use moves to the newer map when it is read.
type memberCache struct {
	mu           sync.Mutex
	newer, older map[*credit.OpenHold][]byte
}

// of returns the members of all holds, in their order.
func (c *memberCache) of(holds credit.Holds) ([][]byte, error) {
	members := make([][]byte, 0, holds.Len())
	missing := false
	c.mu.Lock()
	for hold := range holds.Shared() {
		member, ok := c.newer[hold]
		if !ok {
			if member, ok = c.older[hold]; ok {
				c.keep(hold, member)
			}
		}
		missing = missing || !ok
		members = append(members, member)
	}
	c.mu.Unlock()
	if !missing {
		return members, nil
	}
	return members, c.encode(holds, members)
}

// encode fills in the members that are nil and keeps them. It holds the lock only to keep
// them, because a rebuild encodes many accounts at the same time.
func (c *memberCache) encode(holds credit.Holds, members [][]byte) error {
	i, made := 0, map[*credit.OpenHold][]byte{}
	for hold := range holds.Shared() {
		if members[i] == nil {
			key, err := json.Marshal(hold.SourceID)
			if err != nil {
				return err
			}
			value, err := json.Marshal(hold)
			if err != nil {
				return err
			}
			members[i] = slices.Concat(key, []byte{':'}, value)
			made[hold] = members[i]
		}
		i++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for hold, member := range made {
		c.keep(hold, member)
	}
	return nil
}

// keep adds an entry. The caller holds the lock.
func (c *memberCache) keep(hold *credit.OpenHold, member []byte) {
	if c.newer == nil || len(c.newer) >= memberCacheSize {
		c.newer, c.older = map[*credit.OpenHold][]byte{}, c.newer
	}
	c.newer[hold] = member
}
