// Package memory is the log in memory, for tests of packages that need a log but not Postgres. It
// passes the same tests as postgres (storetest). It stores events encoded, so it refuses the same
// events as postgres.
//
// One mutex serializes the appends, so no event commits late.
//
// It may import eventstore and eventstore/codec.
package memory
