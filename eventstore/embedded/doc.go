// Package embedded runs a Postgres server. The program uses it when no database URL is configured, and
// tests use it.
//
// It may import the standard library, pgx (to check that a server responds) and an xz decoder. It must
// not import other packages of this module.
//
// # Life of a server
//
//	absent    --Start--> running    initdb, then pg_ctl start
//	stopped   --Start--> running    pg_ctl start
//	running   --Start--> running    adopted: one more user
//	running   --Close--> running    it has other users
//	running   --Close--> stopped    the last user closed it: fast shutdown
//	running   --kill -9 of a user--> running    adopted by the next Start
//	running   --kill -9 or stop of the server--> running    restarted by one user in Supervise
//
// # Guarantees
//
//   - Processes may share one folder. Start and Close take an exclusive lock on start.lock. Each
//     user holds a shared lock on users.lock. The kernel drops it when the process ends for any
//     reason.
//   - Supervise of any user restarts a server that has ended, within about a second, on the same port.
//     Processes that outlived the postmaster are ended first. Repeated restarts back off to one in
//     30 seconds, counted over all users.
//   - A new cluster has data checksums, unless it is ephemeral.
//   - Data is never deleted unless [Options].Ephemeral is set. Start returns [ErrNoBinaries] when
//     no binaries match the version of the data folder.
//   - The server listens on 127.0.0.1 and on a socket in a folder of mode 0700. Both need a
//     password (SCRAM). It is random and stored in the file "password", mode 0600.
//   - Every wait ends with the caller's context or a deadline of this package.
//   - Errors contain the last lines of the server's log.
//
// A server that is frozen (SIGSTOP) still has its process, so Supervise leaves it alone.
//
// # Decisions
//
// Postgres refuses to run as root. For root it runs under the account postgres, or nobody where
// that is missing. When this account cannot reach the data folder (for example below a folder of
// mode 0700), the cluster is under /var/lib/vqa, and the file "location" has its path.
//
// The binaries of the machine are used first. Otherwise they are downloaded once from Maven Central,
// from the archives that the module fergusstrange/embedded-postgres uses. This package does not use
// that module, for four reasons:
//
//   - It cannot download without running initdb as the calling user.
//   - Its download has no deadline.
//   - It takes the checksum from the server that it downloads from. Here checksums are in the source.
//   - It deletes a data folder of another version.
package embedded
