package language

import (
	"sync"

	"vqa/domain/query"
)

// cacheSize bounds the number of cached prompts. Each takes a few kilobytes at most.
const cacheSize = 2048

// cachedQuery is the result of compiling a prompt: a query, or ErrUnusable.
type cachedQuery struct {
	query query.Query
	err   error
}

// queryCache holds the results of the most recently used prompts in two generations. A used
// entry moves to the young generation. When the young generation is full, it replaces the old
// one. The zero queryCache is ready to use.
type queryCache struct {
	mu         sync.Mutex
	young, old map[string]cachedQuery
}

func (m *queryCache) get(prompt string) (cachedQuery, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.young[prompt]
	if ok {
		return r, true
	}
	if r, ok = m.old[prompt]; ok {
		m.store(prompt, r)
	}
	return r, ok
}

func (m *queryCache) put(prompt string, r cachedQuery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store(prompt, r)
}

func (m *queryCache) store(prompt string, r cachedQuery) {
	if m.young == nil || len(m.young) >= cacheSize/2 {
		m.old, m.young = m.young, map[string]cachedQuery{}
	}
	m.young[prompt] = r
}
