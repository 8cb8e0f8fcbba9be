package seal

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"vqa/eventstore/translog"
	"vqa/handlers/anchor"
)

// Files keeps the files of the log. *anchor.Place implements it.
type Files interface {
	Create(ctx context.Context, name string, data []byte) error
	Put(ctx context.Context, name string, data []byte) error
	Read(ctx context.Context, name string) ([]byte, error)
	List(ctx context.Context, folder, after string) ([]string, error)
	Remove(ctx context.Context, name string) error
	// Sync makes the files durable that were put.
	Sync(ctx context.Context) error
}

// The folders of the files. Those of a log have its number.
const (
	keysFolder        = "keys"
	logsFolder        = "logs"
	checkpointsFolder = "checkpoints"
	treesFolder       = "trees"
	// cosignaturesFolder has a folder for each cosigned checkpoint, and there a file of each witness.
	cosignaturesFolder = "cosignatures"
)

func keyName(n int64) string { return fmt.Sprintf("%s/%08d", keysFolder, n) }

// logName returns the name of a log in a folder.
func logName(folder string, log int64) string { return fmt.Sprintf("%s/%04d", folder, log) }

// checkpointName returns the name of a checkpoint: its size in 20 digits, so that names sort like sizes.
func checkpointName(log, size int64) string {
	return fmt.Sprintf("%s/%020d", logName(checkpointsFolder, log), size)
}

// Head is the newest state of the log outside the database.
type Head struct {
	// Keys are the keys, and Opening is the newest log. Opening.Number is 0 before the first start of a
	// sealer.
	Keys    translog.Keys
	Opening translog.Opening
	// Openings are those of all logs, oldest first. Opening is the last of them.
	Openings []translog.Opening
	// Signed is the newest checkpoint, with the cosignatures of Cosigned, and Checkpoint its content. Signed is
	// nil before the first.
	Signed     []byte
	Checkpoint translog.Checkpoint
	Cosigned   []Cosigned
}

// Anchors reads the files that are created once: keys, openings and checkpoints.
type Anchors struct {
	Files Files
	// Pins are the keys that may begin the log, or replace a lost key. Without pins, the first key that
	// was anchored counts.
	Pins []ed25519.PublicKey
	// Own is the key of this node, or nil. A statement that replaces it without its signature, as if it were lost, is a
	// finding, unless the new key is one of the Pins.
	Own ed25519.PublicKey
	// Witnesses are the keys of the configured witnesses, whose cosignatures belong to the checkpoints.
	Witnesses []translog.Witness
}

// Keys reads and verifies the key statements.
func (a Anchors) Keys(ctx context.Context) (translog.Keys, error) {
	signed, err := a.Statements(ctx)
	if err != nil {
		return translog.Keys{}, err
	}
	keys, err := translog.ReadKeys(signed, a.Pins...)
	if err != nil {
		return translog.Keys{}, &Finding{Problem: err.Error()}
	}
	pinned := func(s *translog.Statement) bool {
		return slices.ContainsFunc(a.Pins, func(p ed25519.PublicKey) bool { return p.Equal(s.Key) })
	}
	if by := keys.ReplacedFrom(a.Own); by != nil && !pinned(by) {
		return translog.Keys{}, &Finding{Problem: fmt.Sprintf("the key statement %d replaces the key of this node as if it were lost, without its signature (by %.100q, reason %.100q): "+
			"somebody else wrote it, unless you did. Remove it, or replace its key with: vqa ledger keys replace. When it is yours, remove ledger.key of this node, or pin the new key in VQA_LEDGER_KEYS",
			by.Number, by.Actor, by.Reason)}
	}
	return keys, nil
}

// Openings reads and verifies the openings of all logs, oldest first.
func (a Anchors) Openings(ctx context.Context, keys translog.Keys) ([]translog.Opening, error) {
	names, notes, err := a.notes(ctx, logsFolder)
	if err != nil {
		return nil, err
	}
	openings := make([]translog.Opening, 0, len(names))
	for i, name := range names {
		o, err := keys.OpenOpening(notes[i])
		if err == nil && fmt.Sprintf("%04d", o.Number) != name {
			err = fmt.Errorf("the opening of log %d has the name of another log", o.Number)
		}
		if err != nil {
			return nil, &Finding{Problem: fmt.Sprintf("the opening %s/%s: %v", logsFolder, name, err)}
		}
		openings = append(openings, o)
	}
	return openings, nil
}

// Checkpoint reads and verifies a checkpoint of a log. Errors: anchor.ErrMissing, *Finding.
func (a Anchors) Checkpoint(ctx context.Context, keys translog.Keys, o translog.Opening, size int64) ([]byte, translog.Checkpoint, error) {
	return a.openWith(ctx, keys, o, size, func(signed []byte) (translog.Checkpoint, error) { return keys.Open(o.Number, signed) })
}

// openWith reads a checkpoint that open accepts, without the lines that no key of the log signed. Errors:
// anchor.ErrMissing, *Finding.
func (a Anchors) openWith(ctx context.Context, keys translog.Keys, o translog.Opening, size int64, open func(signed []byte) (translog.Checkpoint, error)) ([]byte, translog.Checkpoint, error) {
	name := checkpointName(o.Number, size)
	signed, err := a.Files.Read(ctx, name)
	if err != nil {
		return nil, translog.Checkpoint{}, err
	}
	c, err := open(signed)
	if err == nil && (c.Size != size || c.Origin != o.Origin) {
		err = errors.New("its content is that of another checkpoint")
	}
	if err == nil {
		signed, err = translog.OnlySignedBy(signed, keys.All()...)
	}
	if err != nil {
		return nil, c, &Finding{Problem: fmt.Sprintf("the checkpoint %s: %v", name, err)}
	}
	return signed, c, nil
}

// Head reads the newest state. known is a checkpoint that was read before, which bounds the listing; the
// zero value lists all. Error: *Finding, also when the known checkpoint was removed or replaced.
func (a Anchors) Head(ctx context.Context, known Head) (Head, error) {
	var h Head
	var err error
	if h.Keys, err = a.Keys(ctx); err != nil {
		return h, err
	}
	if !h.Keys.Extend(known.Keys) {
		return h, &Finding{Problem: "the key statements of the log were removed or replaced: they do not begin with those that this node has read before. When you began them again after a loss, restart the service"}
	}
	if h.Openings, err = a.Openings(ctx, h.Keys); err != nil {
		return h, err
	}
	if len(h.Openings) == 0 && len(known.Openings) == 0 {
		return h, nil
	}
	if err := extendOpenings(known.Openings, h.Openings); err != nil {
		return h, err
	}
	h.Opening = h.Openings[len(h.Openings)-1]
	h.Checkpoint = translog.Checkpoint{Origin: h.Opening.Origin, Tree: translog.EmptyTree()}
	after := ""
	if known.Opening.Number == h.Opening.Number && known.Signed != nil {
		h.Signed, h.Checkpoint, h.Cosigned = known.Signed, known.Checkpoint, known.Cosigned
		after = fmt.Sprintf("%020d", known.Checkpoint.Size-1) // the known one is listed, too
	}
	names, err := a.Files.List(ctx, logName(checkpointsFolder, h.Opening.Number), after)
	if err != nil {
		return h, err
	}
	if h.Signed != nil {
		if len(names) == 0 || names[0] != fmt.Sprintf("%020d", known.Checkpoint.Size) {
			return h, removed(h.Opening.Number, known.Checkpoint.Size)
		}
		if err := a.sameCheckpoint(ctx, h.Keys, h.Opening, known.Checkpoint.Size, known.Checkpoint.Digest()); err != nil {
			return h, err
		}
		names = names[1:]
	}
	if len(names) == 0 {
		return a.addCosignatures(ctx, h)
	}
	size, err := strconv.ParseInt(names[len(names)-1], 10, 64)
	if err != nil {
		return h, &Finding{Problem: fmt.Sprintf("the file %q is not the name of a checkpoint", names[len(names)-1])}
	}
	h.Cosigned = nil
	if h.Signed, h.Checkpoint, err = a.Checkpoint(ctx, h.Keys, h.Opening, size); err != nil {
		return h, err
	}
	return a.addCosignatures(ctx, h)
}

// extendOpenings checks that the openings of the logs begin with those that were read before. Error: *Finding.
func extendOpenings(known, now []translog.Opening) error {
	for i, o := range known {
		if i >= len(now) || now[i].Text() != o.Text() {
			return &Finding{Problem: fmt.Sprintf("the opening of log %d was removed or replaced, which this node has read before: the anchors were replaced by older ones, or this node uses another place", o.Number)}
		}
	}
	return nil
}

// signedOnce reads a checkpoint that some key of the log has signed, also one that was revoked since: a revocation
// changes no file. Errors: anchor.ErrMissing, *Finding.
func (a Anchors) signedOnce(ctx context.Context, keys translog.Keys, o translog.Opening, size int64) ([]byte, translog.Checkpoint, error) {
	return a.openWith(ctx, keys, o, size, func(signed []byte) (translog.Checkpoint, error) {
		c, _, err := translog.OpenCheckpoint(signed, keys.All()...)
		return c, err
	})
}

// sameCheckpoint checks that an anchored checkpoint is signed and has a digest. Error: *Finding, also when it was
// removed.
func (a Anchors) sameCheckpoint(ctx context.Context, keys translog.Keys, o translog.Opening, size int64, digest string) error {
	_, c, err := a.signedOnce(ctx, keys, o, size)
	switch {
	case missing(err):
		return removed(o.Number, size)
	case err != nil:
		return err
	case c.Digest() != digest:
		return &Finding{Problem: fmt.Sprintf("the checkpoint of size %d of log %d was replaced: it has the digest %s instead of %s", size, o.Number, c.Digest(), digest)}
	}
	return nil
}

// removed is the finding about a checkpoint that was anchored once, or about a whole log when the size is 0.
func removed(log, size int64) *Finding {
	what := fmt.Sprintf("log %d", log)
	if size > 0 {
		what = fmt.Sprintf("the checkpoint of size %d of log %d", size, log)
	}
	return &Finding{Problem: what + " is not anchored any more: the anchors were removed or replaced by older ones, or this node uses another place"}
}

// Tree reads the tiles and records of a log.
type Tree struct {
	Files Files
	// Log is the number of the log.
	Log int64
}

// Read returns the reader of the tiles for package translog.
func (t Tree) Read(ctx context.Context) translog.ReadTile {
	return func(name string) ([]byte, error) { return t.Files.Read(ctx, logName(treesFolder, t.Log)+"/"+name) }
}

func (t Tree) write(ctx context.Context, tiles []translog.Tile) error {
	for _, tile := range tiles {
		if err := t.Files.Put(ctx, logName(treesFolder, t.Log)+"/"+tile.Path, tile.Data); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the partial tiles of a size that a larger checkpoint has made useless.
func (t Tree) prune(ctx context.Context, size, larger int64) error {
	var failed error
	for _, name := range translog.Outdated(size, larger) {
		failed = errors.Join(failed, t.Files.Remove(ctx, logName(treesFolder, t.Log)+"/"+name))
	}
	return failed
}

// Locate returns the index of the leaf of the event with a position in a tree, and its record. found is
// false when the tree has no such event. It searches in the bundles, which are ordered by position.
func (t Tree) Locate(ctx context.Context, tree translog.Tree, position int64) (index int64, leaf translog.Leaf, found bool, err error) {
	first, leaves, err := t.around(ctx, tree, position)
	for i, l := range leaves {
		if l.Position == position {
			return first + int64(i), l, true, nil
		}
	}
	return 0, leaf, false, err
}

// around returns the leaves of the bundle whose positions enclose a position, and the index of the first one. There
// are none when the position is before, after or between the bundles.
func (t Tree) around(ctx context.Context, tree translog.Tree, position int64) (index int64, leaves []translog.Leaf, err error) {
	low, high := int64(0), (tree.Size-1)/translog.TileWidth
	for low <= high && tree.Size > 0 {
		middle := (low + high) / 2
		first, records, err := translog.ReadRecords(tree, t.Read(ctx), middle*translog.TileWidth)
		if err != nil {
			return 0, nil, err
		}
		leaves, skipped := leavesOf(records)
		switch {
		case len(leaves) == 0 || leaves[len(leaves)-1].Position < position:
			low = middle + 1
		case leaves[0].Position > position:
			high = middle - 1
		default:
			return first + int64(skipped), leaves, nil
		}
	}
	return 0, nil, nil
}

// leavesOf parses the leaves of events among records. skipped is 1 when the first record is that of a
// restart. A record that is not a leaf has position 0; the tree proves that the sealer wrote it.
func leavesOf(records [][]byte) (leaves []translog.Leaf, skipped int) {
	for i, r := range records {
		l, err := translog.ParseLeaf(r)
		if err != nil && i == 0 {
			skipped = 1
			continue
		}
		leaves = append(leaves, l)
	}
	return leaves, skipped
}

// missing reports whether a file does not exist.
func missing(err error) bool { return errors.Is(err, anchor.ErrMissing) }
