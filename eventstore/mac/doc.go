// Package mac computes and checks message authentication codes of stored rows. The key is outside
// the database, so that somebody who controls the database cannot add or change a row unnoticed.
//
// # What is covered
//
//	row       covered
//	event     stream, version, type, account, data, meta and chain, each as stored
//	snapshot  stream, version, the chain at that version and the bytes of the state
//
// The position and the time of recording are not covered, because the database assigns them.
//
// # Guarantees
//
//   - A MAC is valid for one kind of row, one stream, one version and one installation. A copy of a
//     row in another stream, at another version or in another database is refused.
//   - The chain of an event covers all earlier events of its stream. So a row that is valid by
//     itself follows only the events that the service had read when it wrote the row.
//   - A MAC names its key. New rows have the newest key; rows of an older key stay valid as long as
//     the older key is given.
//
// A MAC does not prove that nothing later exists: an old row with a valid MAC stays valid. Somebody
// who removes the newest events of a stream, or the whole stream, leaves valid rows. Only signed
// checkpoints outside the database show that.
//
// It may import eventstore and eventstore/codec. It reads no files and no database.
package mac
