// Package anchor keeps the files of the transparency log outside the database: in a folder, or in a bucket
// of S3 and compatible servers.
//
// It may import domain/fault, gocloud.dev, the S3 client of AWS, golang.org/x/sys and the standard library.
//
// # Guarantees
//
//   - Of several processes that Create a name at the same time, exactly one succeeds. A folder uses a hard
//     link, because the file driver of gocloud.dev first looks and then renames: of 2,000 rounds with two
//     writers, both won in 260 and in 331. A bucket uses If-None-Match.
//   - A created file is read-only (mode 0444), complete, and on disk when Create returns.
//   - Read returns the oldest version of an object. With object lock, newer versions and delete markers can
//     hide a locked version, but cannot remove it.
//   - Put replaces a file. Tiles and records are put, because the root of a checkpoint proves them. They are on disk
//     when the next Sync returns, which a pass of the sealer makes before it signs.
//   - Each call has a time limit, and a file of more than a megabyte is not read.
//
// # Limits
//
// A folder protects against the owner of the database. The owner of the machine can change it.
// For S3, create the bucket with object lock, give the service no right to delete or to bypass the lock, and
// refuse requests without s3:if-none-match by a bucket policy. List of a folder reads all its names.
package anchor
