package main

import (
	"fmt"
	"log/slog"
	"sync"

	"vqa/eventstore"
)

// alarmForged is the name of the alarm about rows of the log.
const alarmForged = "forged_rows"

// forgedRows bounds the rows that a node remembers. Further ones are only counted.
const forgedRows = 1000

// forged collects the rows of the database that the service did not write.
type forged struct {
	log *slog.Logger

	mu    sync.Mutex
	known map[eventstore.ForgedError]bool
	first *eventstore.ForgedError
}

// note logs a row once.
func (f *forged) note(row *eventstore.ForgedError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[*row] || len(f.known) >= forgedRows {
		return
	}
	if f.known == nil {
		f.known, f.first = map[eventstore.ForgedError]bool{}, row
	}
	f.known[*row] = true
	f.log.Error("the database has a row that the service did not write", "stream", row.Stream.String(), "version", row.Version,
		"position", row.Position, "row", row.Row, "problem", row.Problem, "fix", verifyAll)
}

// verifyAll is the command that names every row that the service did not write.
const verifyAll = "vqa ledger verify"

// alarms returns the alarms about the collected rows. Only a restart clears them.
func (f *forged) alarms() (raised []alarm) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.known); n > 0 {
		raised = append(raised, alarm{alarmForged, "", fmt.Sprintf("%s refused; the first: %v", counted(int64(n), "row"), f.first), verifyAll})
	}
	return raised
}
