// Package migrations has the schema of the database and applies it. Migrations go forward only.
//
// Each file NNNN_name.sql states its purpose and ends with checks. The statements of a released file
// never change; only its comments may. A new file must also work with the program of the previous
// release, because both may run during a deployment.
//
// # Rights
//
// Up runs as the owner of the schema. The service runs as the role vqa_service. It may only insert
// and select events, and it cannot choose their positions. It may read and write every other table,
// except that it cannot change the rows of installation_parts. Default privileges grant that for the
// tables of later migrations too. River's migrations run after ours and create River's tables. Only
// the owner can do maintenance such as REINDEX.
//
// It imports the migrators and pgx only. It must not import packages of this module.
package migrations
