// Package embedded runs the Postgres server that the program uses when no
// database URL is configured, and the one that tests use.
//
// It may import the standard library, pgx (to ask a server whether it answers)
// and an xz decoder; nothing of this module.
//
// # Life of a server
//
//	absent    --Start--> running    initdb, then pg_ctl start
//	stopped   --Start--> running    pg_ctl start
//	running   --Start--> running    adopted: one more user
//	running   --Close--> running    other users remain
//	running   --Close--> stopped    the last user left: fast shutdown
//	running   --kill -9 of a user--> running    adopted by the next Start
//
// # Guarantees
//
//   - Processes may share one folder. Start and Close run under an exclusive
//     lock on start.lock; each user holds a shared lock on users.lock, which the
//     kernel drops when its process dies, however it dies.
//   - Data is never deleted, with one exception that is asked for by name:
//     [Options].Ephemeral. A data folder of a version that no installed binary
//     can serve is refused with [ErrNoBinaries].
//   - The server listens on 127.0.0.1 and on a socket in a folder of mode 0700,
//     and takes a password (SCRAM) on both. The password is random and lies in
//     the file "password", mode 0600.
//   - Every wait ends with the caller's context or a deadline of this package.
//   - Errors carry the last lines of the server's own log.
//
// # Decisions
//
// Postgres refuses to run as root, so root runs it under the user postgres, or
// nobody where that is missing. When that user cannot reach the folder (a clone
// below a folder of mode 0700) the cluster lies under /var/lib/vqa, and the file
// "location" names the place.
//
// The binaries are those of the machine, else they are fetched once from Maven
// Central, from the same archives as the module fergusstrange/embedded-postgres
// uses. That module itself is not used: it has no way to fetch without also
// running initdb as the calling user, it has no deadline on the download, it
// verifies against a checksum from the place it downloads from, and it deletes
// a data folder whose version differs from its own. Here checksums are in the
// source.
package embedded
