package command

import "vqa/eventstore"

// memorySize bounds the aggregates that a lane remembers.
const memorySize = 4096

// memory keeps the state that a lane left an aggregate in, so that the next command
// need not load it. It may be out of date, because other processes write too: events
// decided on it are refused by the log then, and a refusal or an answer that nothing
// was appended with is decided again on what is loaded. It belongs to one lane.
//
// Two generations make it a cache of those used last: what is used moves to the young
// one, and when that is full it takes the old one's place.
type memory struct {
	young, old map[eventstore.StreamID]aggregateState
}

func newMemory() *memory { return &memory{young: map[eventstore.StreamID]aggregateState{}} }

// get returns what is remembered; a nil memory remembers nothing.
func (m *memory) get(id eventstore.StreamID) (aggregateState, bool) {
	if m == nil {
		return aggregateState{}, false
	}
	s, ok := m.young[id]
	if ok {
		return s, true
	}
	if s, ok = m.old[id]; ok {
		m.put(id, s)
	}
	return s, ok
}

func (m *memory) put(id eventstore.StreamID, s aggregateState) {
	if len(m.young) >= memorySize/2 {
		m.old, m.young = m.young, make(map[eventstore.StreamID]aggregateState, memorySize/2)
	}
	m.young[id] = s
}

func (m *memory) forget(id eventstore.StreamID) {
	delete(m.young, id)
	delete(m.old, id)
}
