package language

import (
	"sync"

	"vqa/domain/query"
)

// memorySize bounds the prompts that are remembered, a few kilobytes each at most.
const memorySize = 2048

// reading is how a model read a prompt: a query, or ErrUnusable.
type reading struct {
	query query.Query
	err   error
}

// memory remembers the prompts that were read last. What is used moves to the young
// generation; when that is full it takes the place of the old one. The zero memory is
// ready.
type memory struct {
	mu         sync.Mutex
	young, old map[string]reading
}

func (m *memory) get(prompt string) (reading, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.young[prompt]
	if ok {
		return r, true
	}
	if r, ok = m.old[prompt]; ok {
		m.keep(prompt, r)
	}
	return r, ok
}

func (m *memory) put(prompt string, r reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(prompt, r)
}

func (m *memory) keep(prompt string, r reading) {
	if m.young == nil || len(m.young) >= memorySize/2 {
		m.old, m.young = m.young, map[string]reading{}
	}
	m.young[prompt] = r
}
