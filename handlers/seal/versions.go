package seal

import (
	"fmt"
	"hash/maphash"
	"strings"

	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
)

// mostVersions bounds the remembered versions, at about 25 bytes each.
const mostVersions = 2_000_000

// versions has the newest version of each stream in a signed tree, as the last audit read it from the records, and of what
// was signed since then. The event before a new one is looked up in the tree. That does not show that the tree has a later
// event of the stream, which the owner of the database has removed.
type versions struct {
	log int64
	// position is that of the last leaf. Rows up to it may be read again.
	position int64
	// of has hashes instead of names, which would take five times the memory.
	of   map[uint64]int64
	seed maphash.Seed
}

func newVersions(log int64) *versions {
	return &versions{log: log, of: map[uint64]int64{}, seed: maphash.MakeSeed()}
}

// add takes over a leaf. Those of ledgers are not needed: the sealer folds all of them. When there are too many streams, it
// forgets all.
func (v *versions) add(stream string, version int64) {
	if strings.HasPrefix(stream, fold.Credit.Category()+"/") {
		return
	}
	key := maphash.String(v.seed, stream)
	if v.of[key] >= version {
		return
	}
	if len(v.of) >= mostVersions {
		clear(v.of)
	}
	v.of[key] = version
}

// keepVersions takes over the events that were signed.
func (st *state) keepVersions() {
	if v := st.versions; v != nil && v.log == st.files.Log {
		for stream, version := range st.fresh {
			v.add(stream, version)
		}
		v.position = max(v.position, st.position)
	}
	clear(st.fresh)
}

// sealed returns the problem of a new row whose version the tree has already, or "".
func (v *versions) sealed(log int64, r postgres.Raw) string {
	if v == nil || v.log != log || r.Position <= v.position {
		return ""
	}
	if newest := v.of[maphash.String(v.seed, r.Stream.String())]; newest >= r.Version {
		return fmt.Sprintf("the event has version %d, but the tree has this stream up to version %d: sealed events were removed", r.Version, newest)
	}
	return ""
}
