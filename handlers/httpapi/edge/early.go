package edge

import (
	"net/http"
	"sync"
	"time"

	"vqa/domain/account"
	"vqa/domain/rate"
)

// maxSubjects bounds the credentials whose key a node remembers.
const maxSubjects = 10_000

// subjects remembers the key of a credential, by its hash. A secret never moves to another key, so this
// never becomes wrong. Whether the key is valid is read from the database for each request.
type subjects struct {
	mu    sync.Mutex
	keyID map[string]string
}

func newSubjects() *subjects { return &subjects{keyID: map[string]string{}} }

func (s *subjects) of(hash string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keyID[hash]
}

func (s *subjects) remember(hash, keyID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keyID) >= maxSubjects {
		clear(s.keyID)
	}
	s.keyID[hash] = keyID
}

// counted is the count of a request for a subject.
type counted struct {
	subject string
	count   rate.Count
	granted bool
	at      time.Time
}

// counting is a count that runs while the request is authenticated. A nil counting counts nothing.
type counting struct{ done chan *counted }

// countEarly starts to count a request whose key is known, so that it waits for the database once instead of
// twice. A create waits in line before it is counted.
func (e *Edge) countEarly(r *http.Request, op *operation, class class) *counting {
	credential, given, err := op.bearer(r)
	if !given || err != nil || op.public || op.creates || class == parse || class == exempt {
		return nil
	}
	keyID := e.subjects.of(account.HashSecret(credential))
	if keyID == "" {
		return nil
	}
	c, now := &counting{make(chan *counted, 1)}, e.Service.Now()
	go func() {
		count, granted := e.limiter.take(r.Context(), class, keyID, now)
		c.done <- &counted{keyID, count, granted, now}
	}()
	return c
}

// wait returns the count, at most a second after it began.
func (c *counting) wait() *counted {
	if c == nil {
		return nil
	}
	return <-c.done
}
