package command

import "vqa/eventstore"

// cacheSize bounds the aggregates in the caches of all lanes together. An aggregate takes about
// 1 kB.
const cacheSize = 32768

// cache holds the state of recently used aggregates of one lane, so that the next command need
// not load it. The state may be out of date, because other processes write too. The log refuses
// events that were decided on an old version. A result without an append is decided again on
// loaded state.
//
// The cache evicts approximately the least recently used entries: a used entry moves to the
// young generation, and when that is full it replaces the old generation.
type cache struct {
	size       int
	young, old map[eventstore.StreamID]aggregateState
}

// newCache returns a cache of at most size aggregates.
func newCache(size int) *cache {
	return &cache{size: size, young: map[eventstore.StreamID]aggregateState{}}
}

// get returns the cached state of a stream. A nil cache is empty.
func (c *cache) get(id eventstore.StreamID) (aggregateState, bool) {
	if c == nil {
		return aggregateState{}, false
	}
	s, ok := c.young[id]
	if ok {
		return s, true
	}
	if s, ok = c.old[id]; ok {
		c.put(id, s)
	}
	return s, ok
}

func (c *cache) put(id eventstore.StreamID, s aggregateState) {
	if len(c.young) >= c.size/2 {
		c.old, c.young = c.young, make(map[eventstore.StreamID]aggregateState, c.size/2)
	}
	c.young[id] = s
}

func (c *cache) forget(id eventstore.StreamID) {
	delete(c.young, id)
	delete(c.old, id)
}
