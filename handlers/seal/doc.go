// Package seal keeps the transparency log of the ledger: it examines the new events, appends them to the
// tree, and anchors signed checkpoints outside the database.
//
// It may import domain, eventstore, handlers/anchor, handlers/command, handlers/witness and the standard
// library.
//
// # A pass
//
// A pass runs every minute, or after 1,000 events, and does nothing without a new business event.
//
//  1. It reads the newest anchored checkpoint, the keys and the opening of the log. It checks that the tables of
//     the log are permanent, without row-level security and rules.
//  2. It compares the rows of the last bundle with their records. After a restore they differ.
//  3. It reads the rows after the checkpoint up to events_settled, and examines each: who wrote it, its
//     version, its chain, and the laws of the ledger. The previous event of its stream must be the one in
//     the tree. Each event that this node appended must then be in the tree: the owner of the database decides
//     what the sealer sees, but not what the commands have been told.
//  4. It compares the stored states of the accounts that moved with its own.
//  5. It appends ledger.sealed: the tree so far, the tree over all accounts, and the previous checkpoint.
//  6. It examines the rows up to this event, writes tiles and records, makes them durable, and signs the tree.
//  7. It creates the checkpoint's name. If another node has created it, both must have the same root.
//  8. It appends a ledger.sealed that names this checkpoint, so that its removal is found. An idle pass does so
//     when the pass before ended too early.
//
// Each step may be repeated. A process that ends after any of them leaves nothing that the next pass cannot
// continue: tiles of an unsigned tree are overwritten, and a ledger.sealed without a checkpoint is an event
// like any other.
//
// # State
//
// The sealer keeps the state of each account in memory. At its start it folds the ledgers once and compares
// the account tree with the one in the newest ledger.sealed, which the signed tree covers. After an error
// it begins again. It is the only state: another node that seals is followed by reading its rows.
//
// The node also remembers where the database put the events that it appended (postgres.Store.Appended), until a pass
// has met them. An event that is not settled within five minutes raises the alarm ledger_unsealed, by the clock of the
// machine, because the owner of the database sets that of the database. A node that starts
// again remembers nothing, and neither does one after Restart.
//
// # Witnesses
//
// The configured witnesses are asked after a checkpoint is anchored, and again at the beginning of each pass until
// they have cosigned it. Their cosignatures are kept beside it, in files that are written once. A witness that
// fails delays nothing, unless the quorum is missed: then the next checkpoint is not signed. A witness that has
// cosigned a tree which the log does not extend is a finding.
//
// # Findings
//
// A contradiction is a *Finding. It names the row if there is one, raises the alarm ledger_finding, and
// stops sealing. A finding of a reader, such as a proof that contradicts the log, raises the alarm for a day and
// stops nothing. The sealer looks again every ten minutes, so a repair needs no restart of the service. After a finding
// of an audit, each look is an audit, because a pass does not read all rows.
// After a restore from a backup, sealing stops until Restart begins a log with another number.
//
// # Keys
//
// The first sealer pins its key. After that, only the current key of the statements seals. A node with
// another key only reads. It demands its own events in the tree that the others sign, and raises ledger_unsealed when no
// other node seals. A statement that replaces a key as if it were lost is a finding of each node that still has the key.
//
// # Limits
//
// A row whose payload was changed, but not its chain, contradicts no leaf. The sealer finds it when the row
// is new or belongs to a ledger; the daily audit finds it everywhere. The same audit finds a checkpoint that was
// removed although a newer one is anchored.
//
// A sealed event of a stream that is not a ledger can be removed, with the later ones of the stream. Another event with
// its version is then signed by a node that has neither audited nor met an event of this stream since its start. An audit
// remembers the version of each stream in the tree, of up to two million, so that a later pass names such an event.
package seal
