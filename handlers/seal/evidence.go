package seal

import (
	"context"
	"fmt"
	"path"
	"strconv"

	"vqa/eventstore/codec"
	"vqa/eventstore/translog"
)

// notes returns the names and the contents of the files in a folder, in order.
func (a Anchors) notes(ctx context.Context, folder string) (names []string, notes [][]byte, err error) {
	if names, err = a.Files.List(ctx, folder, ""); err != nil {
		return nil, nil, err
	}
	notes = make([][]byte, len(names))
	for i, name := range names {
		if notes[i], err = a.Files.Read(ctx, path.Join(folder, name)); err != nil {
			return nil, nil, err
		}
	}
	return names, notes, nil
}

// Statements returns the signed key statements, oldest first. It verifies none of them.
func (a Anchors) Statements(ctx context.Context) ([][]byte, error) {
	_, notes, err := a.notes(ctx, keysFolder)
	return notes, err
}

// SignedOpenings returns the signed openings of the logs, oldest first. It verifies none of them.
func (a Anchors) SignedOpenings(ctx context.Context) ([][]byte, error) {
	_, notes, err := a.notes(ctx, logsFolder)
	return notes, err
}

// Oldest returns the oldest anchored checkpoint of the log of a head.
func (a Anchors) Oldest(ctx context.Context, h Head) ([]byte, error) {
	names, err := a.Files.List(ctx, logName(checkpointsFolder, h.Opening.Number), "")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, &Finding{Problem: fmt.Sprintf("log %d has no checkpoint any more", h.Opening.Number)}
	}
	size, err := strconv.ParseInt(names[0], 10, 64)
	if err != nil {
		return nil, &Finding{Problem: fmt.Sprintf("the file %q is not the name of a checkpoint", names[0])}
	}
	signed, _, err := a.Checkpoint(ctx, h.Keys, h.Opening, size)
	return signed, err
}

// Accounts returns the account tree at a position of the log, folded from the ledgers. Error: *Finding when an
// event of a ledger breaks a law or its chain.
func Accounts(ctx context.Context, events Events, c *codec.Codec, position int64) (*translog.AccountTree, error) {
	st := (&Sealer{Options: Options{Events: events, Codec: c}}).newState(Head{})
	if err := st.foldLedgers(ctx, 0, position); err != nil {
		return nil, err
	}
	return &st.accounts, nil
}
