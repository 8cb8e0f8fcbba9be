package postgres

import (
	"sync"

	"vqa/eventstore"
)

// mostAppended bounds the remembered appends, about 150 bytes each: at 500 events a second they last seven minutes.
const mostAppended = 200_000

// appended remembers where Postgres said that it put the events of this process. The owner of the database decides
// what each statement sees, so a reader of the log can demand these events.
type appended struct {
	mu     sync.Mutex
	places []Place
}

// WithMemory lets the store remember its appends for Appended.
func WithMemory() Option {
	return func(s *Store) { s.appended = &appended{} }
}

// Appended returns the places of the events that this store has appended since the last call, in no order. It
// returns nothing without WithMemory. Without calls, the oldest are forgotten.
func (s *Store) Appended() []Place {
	if s.appended == nil {
		return nil
	}
	s.appended.mu.Lock()
	defer s.appended.mu.Unlock()
	places := s.appended.places
	s.appended.places = nil
	return places
}

func (a *appended) add(events []eventstore.Recorded) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.places)+len(events) > mostAppended {
		a.places = append([]Place(nil), a.places[len(a.places)/2:]...)
	}
	for _, e := range events {
		a.places = append(a.places, Place{e.Stream.String(), e.Version, e.Position, e.RecordedAt, e.Chain})
	}
}
