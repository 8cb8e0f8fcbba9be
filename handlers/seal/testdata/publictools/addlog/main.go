// Addlog makes a litewitness accept a log: addlog DATABASE ORIGIN VERIFIER_KEY. The witnessctl of the same release
// does this, too, but the module proxy refuses one of its dependencies.
package main

import (
	"log"
	"os"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// emptyRoot is the root of a tree without leaves, in base64.
const emptyRoot = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: addlog DATABASE ORIGIN VERIFIER_KEY")
	}
	db, err := sqlite.OpenConn(os.Args[1], sqlite.OpenReadWrite)
	if err != nil {
		log.Fatal(err)
	}
	for _, add := range [][]any{
		{"INSERT INTO log (origin, tree_size, tree_hash) VALUES (?, 0, ?)", os.Args[2], emptyRoot},
		{"INSERT INTO key (origin, key) VALUES (?, ?)", os.Args[2], os.Args[3]},
	} {
		if err := sqlitex.Execute(db, add[0].(string), &sqlitex.ExecOptions{Args: add[1:]}); err != nil {
			log.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}
