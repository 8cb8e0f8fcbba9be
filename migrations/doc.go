// Package migrations holds the schema of the database, forward only, and applies
// it.
//
// Each file NNNN_name.sql states its purpose and ends by checking what must hold
// after it. A file that was released is never edited. A new file must suit the
// program of the release before as well, because both may run during a deployment.
//
// # Rights
//
// Up runs as the owner of the schema. The service runs as the role vqa_service,
// which may insert and select events, nothing more, and may read and write every
// other table (default privileges, so that a later migration need not think of it).
// River's own tables are made by River's migrations, after ours; maintenance that
// only an owner may do (REINDEX) is not the service's.
//
// It imports the migrators and pgx only; never domain code.
package migrations
