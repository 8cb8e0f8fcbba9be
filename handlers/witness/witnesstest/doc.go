// Package witnesstest is a witness of https://c2sp.org/tlog-witness for tests. It keeps its trees in memory.
//
// It may import eventstore/translog, golang.org/x/mod and the standard library.
package witnesstest
