// Package translog is the transparency log over the events: the leaves, the Merkle tree over them, the
// tree over the accounts, the signed checkpoints, and the proofs. It has no input and no output. The
// sealer (handlers/seal) writes the log, and verifiers need only this package.
//
// It may import golang.org/x/mod/sumdb and the standard library.
//
// # The tree
//
// Each event is a leaf, in the order of positions. Its record is Leaf.Record, and its hash is the leaf
// hash of RFC 6962 over this record. A log that continues after a restart begins with a Restart record
// instead of an event. The tree is kept in tiles of 256 hashes, with the paths of C2SP tlog-tiles
// (https://c2sp.org/tlog-tiles), and the records in bundles of 256.
//
// The chain in a leaf covers the payload of the event and its metadata, which has a random nonce. So a
// leaf shows neither amounts nor texts, and anybody who has the event recomputes it.
//
// # Guarantees
//
//   - Grow authenticates the tiles that it reads against the root of the tree that it extends.
//   - A proof that Verify functions accept proves what RFC 6962 says. They trust no other input.
//   - A checkpoint is three lines: origin, size, root. It has no extension lines. OpenCheckpoint
//     accepts it only with the signature of a given key.
//   - AccountTree.ProveAbsence shows the two neighbors of an account that does not exist.
//   - Evidence has all that proves a ledger. Its entries share the hashes beside their paths, and each path is
//     checked by itself, so a wrong entry is named and does not hide the others.
//
// # Keys
//
// One key signs a log. The key statements (Statement) decide which one, each in a file of its own that
// is written once. A statement names the digest of the one before.
//
//	action     signed by              effect
//	pin        the first key          the log begins with this key
//	rotate     old key and new key    the new key signs checkpoints beyond a size
//	revoke     the current key        checkpoints of a key count only up to a size
//	replace    the new key alone      the old key was lost; verification shows it always
//
// # States of a log
//
//	state      means                                    next
//	(none)     no checkpoint is anchored                open
//	open       the sealer extends the tree              stopped, closed
//	stopped    a finding contradicts the tree           open, when it is repaired; closed
//	closed     a log with the next number was begun     (none)
package translog
