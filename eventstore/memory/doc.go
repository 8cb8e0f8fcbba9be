// Package memory is the log in memory, for tests of packages that need a log but
// not Postgres. It passes the same suite (storetest) and stores events encoded, so
// that an event the real store would refuse is refused here too.
//
// Appends are serialized by one mutex; nothing commits late, so Read never waits.
//
// It may import eventstore and eventstore/codec.
package memory
