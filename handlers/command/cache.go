package command

import "vqa/eventstore"

// cacheSize bounds the aggregates that all lanes together remember, about a kilobyte
// each.
const cacheSize = 32768

// cache keeps the state that a lane left an aggregate in, so that the next command
// need not load it. It may be out of date, because other processes write too: events
// decided on it are refused by the log then, and a refusal or an answer that nothing
// was appended with is decided again on what is loaded. It belongs to one lane.
//
// Two generations make it a cache of those used last: what is used moves to the young
// one, and when that is full it takes the old one's place.
type cache struct {
	size       int
	young, old map[eventstore.StreamID]aggregateState
}

// newCache returns a cache of at most size aggregates.
func newCache(size int) *cache {
	return &cache{size: size, young: map[eventstore.StreamID]aggregateState{}}
}

// get returns what is remembered; a nil cache remembers nothing.
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
