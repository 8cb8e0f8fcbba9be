package credit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// OpenHold is a reservation that has not ended.
type OpenHold struct {
	ID          string     `json:"id"`
	Seconds     int64      `json:"seconds"`
	SourceType  SourceType `json:"source_type"`
	SourceID    string     `json:"source_id"`
	DiscountPct int        `json:"discount_pct,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	// ExpiresAt is when the hold may be ended although its source never asked.
	ExpiresAt time.Time `json:"expires_at"`
}

// Holds are the open holds of an account, at most one a source. A value never
// changes: adding and removing make a new one, which shares the holds themselves, so
// that an account with hundreds of them still folds an event in a few microseconds.
// In JSON they are an object by the id of their source.
type Holds struct {
	// sorted is ordered by SourceID; nil when there is none.
	sorted []*hold
}

// hold is an open hold with its JSON, which is written again and again while it is
// open and so is made only once.
type hold struct {
	OpenHold
	json atomic.Pointer[[]byte]
}

// member is the hold as a member of the JSON object.
func (h *hold) member() ([]byte, error) {
	if made := h.json.Load(); made != nil {
		return *made, nil
	}
	key, err := json.Marshal(h.SourceID)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(h.OpenHold)
	if err != nil {
		return nil, err
	}
	made := slices.Concat(key, []byte{':'}, value)
	h.json.Store(&made)
	return made, nil
}

// Get returns the open hold of a source.
func (h Holds) Get(sourceID string) (OpenHold, bool) {
	i, found := h.find(sourceID)
	if !found {
		return OpenHold{}, false
	}
	return h.sorted[i].OpenHold, true
}

// Len is the number of open holds.
func (h Holds) Len() int { return len(h.sorted) }

// IsZero reports that no hold is open.
func (h Holds) IsZero() bool { return len(h.sorted) == 0 }

// All goes over the open holds in the order of their sources' ids.
func (h Holds) All() iter.Seq[OpenHold] {
	return func(yield func(OpenHold) bool) {
		for _, hold := range h.sorted {
			if !yield(hold.OpenHold) {
				return
			}
		}
	}
}

// NextExpiry is when the first of the holds expires; the zero time when none is open.
func (h Holds) NextExpiry() time.Time {
	var next time.Time
	for i, hold := range h.sorted {
		if i == 0 || hold.ExpiresAt.Before(next) {
			next = hold.ExpiresAt
		}
	}
	return next
}

// Equal reports whether two collections hold the same.
func (h Holds) Equal(other Holds) bool {
	return slices.EqualFunc(h.sorted, other.sorted, func(a, b *hold) bool {
		x, y := a.OpenHold, b.OpenHold
		sameTimes := x.CreatedAt.Equal(y.CreatedAt) && x.ExpiresAt.Equal(y.ExpiresAt)
		x.CreatedAt, x.ExpiresAt = y.CreatedAt, y.ExpiresAt
		return sameTimes && x == y
	})
}

// MarshalJSON implements json.Marshaler.
func (h Holds) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, hold := range h.sorted {
		member, err := hold.member()
		if err != nil {
			return nil, err
		}
		out.WriteByte("{,"[min(i, 1)])
		out.Write(member)
	}
	if out.Len() == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler. Error: a hold stands under the id of
// another source.
func (h *Holds) UnmarshalJSON(data []byte) error {
	var bySource map[string]*OpenHold
	if err := json.Unmarshal(data, &bySource); err != nil {
		return err
	}
	h.sorted = nil
	for sourceID, open := range bySource {
		if open == nil || open.SourceID != sourceID {
			return fmt.Errorf("the hold of %q is not its own", sourceID)
		}
		h.sorted = append(h.sorted, &hold{OpenHold: *open})
	}
	slices.SortFunc(h.sorted, func(a, b *hold) int { return cmp.Compare(a.SourceID, b.SourceID) })
	return nil
}

func (h Holds) find(sourceID string) (int, bool) {
	return slices.BinarySearchFunc(h.sorted, sourceID, func(hold *hold, id string) int {
		return strings.Compare(hold.SourceID, id)
	})
}

// with adds a hold. The clipped slice has no room, so the older value stays as it is.
func (h Holds) with(open OpenHold) Holds {
	i, found := h.find(open.SourceID)
	if found {
		next := slices.Clone(h.sorted)
		next[i] = &hold{OpenHold: open}
		return Holds{next}
	}
	return Holds{slices.Insert(slices.Clip(h.sorted), i, &hold{OpenHold: open})}
}

// without removes the hold of a source, if there is one.
func (h Holds) without(sourceID string) Holds {
	i, found := h.find(sourceID)
	if !found {
		return h
	}
	if len(h.sorted) == 1 {
		return Holds{}
	}
	return Holds{slices.Concat(h.sorted[:i], h.sorted[i+1:])}
}
