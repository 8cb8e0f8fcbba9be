package translog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"

	"golang.org/x/mod/sumdb/tlog"
)

// totals is the number of totals of an account.
const totals = 6

// Account is the leaf of an account: its ledger at the moment of a seal.
type Account struct {
	ID string
	// Version and Chain are the head of the account's ledger stream.
	Version int64
	Chain   [ChainSize]byte
	// PostedSeconds and HeldSeconds are the balance and the open holds.
	PostedSeconds, HeldSeconds int64
	// Totals are the seconds granted, granted for a card, bought, adjusted, used by analyses and used by
	// live streams.
	Totals [totals]int64
}

// Record returns the bytes of the leaf, in the form of Leaf.Record: id, version, chain in hexadecimal,
// posted, held, and the six totals.
func (a Account) Record() []byte {
	fields := []string{accountFormat, a.ID, number(a.Version), hex.EncodeToString(a.Chain[:]), number(a.PostedSeconds), number(a.HeldSeconds)}
	for _, t := range a.Totals {
		fields = append(fields, number(t))
	}
	return netstrings(fields...)
}

// Hash returns the leaf hash of RFC 6962.
func (a Account) Hash() Hash { return tlog.RecordHash(a.Record()) }

// ParseAccount is the inverse of Record. Error: the bytes are not exactly the record of an account.
func ParseAccount(record []byte) (Account, error) {
	fields, err := fieldsOf(record, accountFormat, 5+totals)
	if err != nil {
		return Account{}, err
	}
	a := Account{ID: fields[0]}
	if a.Chain, err = parseChain(fields[2]); err != nil {
		return Account{}, err
	}
	numbers := append([]string{fields[1], fields[3], fields[4]}, fields[5:]...)
	into := []*int64{&a.Version, &a.PostedSeconds, &a.HeldSeconds}
	for i := range a.Totals {
		into = append(into, &a.Totals[i])
	}
	for i, text := range numbers {
		if *into[i], err = parseNumber(text); err != nil {
			return Account{}, err
		}
	}
	if string(a.Record()) != string(record) {
		return Account{}, fmt.Errorf("translog: the record of account %s is not in its canonical form", a.ID)
	}
	return a, nil
}

// AccountTree is the tree of RFC 6962 over the accounts, sorted by id. A change costs one hash for each
// level. An account in the middle costs the hashes to its right; new accounts have the greatest ids. It is
// not safe for concurrent use.
type AccountTree struct {
	ids    []string
	leaves []Account
	// levels[k][i] is the hash of the complete subtree i of 2^k leaves.
	levels [][]Hash
}

// Len returns the number of accounts.
func (t *AccountTree) Len() int { return len(t.ids) }

// Get returns the leaf of an account.
func (t *AccountTree) Get(id string) (Account, bool) {
	i, found := slices.BinarySearch(t.ids, id)
	if !found {
		return Account{}, false
	}
	return t.leaves[i], true
}

// Put adds or replaces accounts.
func (t *AccountTree) Put(accounts ...Account) {
	first := -1
	var changed []int
	accounts = slices.Clone(accounts)
	sort.Slice(accounts, func(i, j int) bool { return accounts[i].ID < accounts[j].ID })
	for _, a := range accounts {
		i, found := slices.BinarySearch(t.ids, a.ID)
		if found {
			t.leaves[i] = a
			changed = append(changed, i)
			continue
		}
		t.ids, t.leaves = slices.Insert(t.ids, i, a.ID), slices.Insert(t.leaves, i, a)
		if first < 0 || i < first {
			first = i
		}
	}
	if first >= 0 {
		t.hashFrom(first)
	}
	for _, i := range changed {
		// An insertion moved the leaf, and hashFrom has already hashed it.
		if first < 0 || i < first {
			t.hashOne(i)
		}
	}
}

// hashFrom hashes each subtree with a leaf at or after an index.
func (t *AccountTree) hashFrom(first int) {
	if len(t.levels) == 0 {
		t.levels = [][]Hash{nil}
	}
	t.levels[0] = t.levels[0][:min(first, len(t.levels[0]))]
	for _, a := range t.leaves[len(t.levels[0]):] {
		t.levels[0] = append(t.levels[0], a.Hash())
	}
	for k := 1; len(t.ids)>>k > 0; k++ {
		if len(t.levels) == k {
			t.levels = append(t.levels, nil)
		}
		below := t.levels[k-1]
		kept := min(first>>k, len(t.levels[k]))
		t.levels[k] = t.levels[k][:kept]
		for i := kept; i < len(t.ids)>>k; i++ {
			t.levels[k] = append(t.levels[k], tlog.NodeHash(below[2*i], below[2*i+1]))
		}
	}
}

// hashOne hashes each subtree with the leaf at an index.
func (t *AccountTree) hashOne(index int) {
	t.levels[0][index] = t.leaves[index].Hash()
	for k := 1; k < len(t.levels); k++ {
		i := index >> k
		if i >= len(t.levels[k]) {
			return // the subtree is not complete
		}
		t.levels[k][i] = tlog.NodeHash(t.levels[k-1][2*i], t.levels[k-1][2*i+1])
	}
}

// ReadHashes implements tlog.HashReader.
func (t *AccountTree) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		if level >= len(t.levels) || n >= int64(len(t.levels[level])) {
			return nil, fmt.Errorf("translog: the account tree has no hash %d of level %d", n, level)
		}
		out[i] = t.levels[level][n]
	}
	return out, nil
}

// Tree returns the number of accounts and the root.
func (t *AccountTree) Tree() Tree {
	root, err := tlog.TreeHash(int64(len(t.ids)), t)
	if err != nil {
		panic(err) // each complete subtree has its hash
	}
	return Tree{int64(len(t.ids)), root}
}

// AccountProof shows that the account tree has a leaf at an index.
type AccountProof struct {
	Account Account
	Index   int64
	Hashes  []Hash
}

// Prove returns the proof of an account. Error: it has no leaf.
func (t *AccountTree) Prove(id string) (AccountProof, error) {
	i, found := slices.BinarySearch(t.ids, id)
	if !found {
		return AccountProof{}, fmt.Errorf("translog: account %s is not in the tree", id)
	}
	return t.proofAt(i)
}

func (t *AccountTree) proofAt(i int) (AccountProof, error) {
	proof, err := tlog.ProveRecord(int64(len(t.ids)), int64(i), t)
	if err != nil {
		return AccountProof{}, fmt.Errorf("translog: prove account %s: %w", t.ids[i], err)
	}
	return AccountProof{t.leaves[i], int64(i), proof}, nil
}

// ProveAbsence returns the proofs of the neighbors of an account that has no leaf: the greatest id below
// it and the least above it. At the edge of the tree there is only one, and none in an empty tree.
func (t *AccountTree) ProveAbsence(id string) ([]AccountProof, error) {
	i, found := slices.BinarySearch(t.ids, id)
	if found {
		return nil, fmt.Errorf("translog: account %s is in the tree", id)
	}
	var out []AccountProof
	for _, n := range []int{i - 1, i} {
		if n < 0 || n == len(t.ids) {
			continue
		}
		proof, err := t.proofAt(n)
		if err != nil {
			return nil, err
		}
		out = append(out, proof)
	}
	return out, nil
}

// Verify checks that an account tree has the leaf.
func (p AccountProof) Verify(tree Tree) error {
	return VerifyInclusion(tree, p.Index, p.Account.Hash(), p.Hashes)
}

// VerifyAbsence checks that an account tree has no leaf of an account: its neighbors are beside each other.
func VerifyAbsence(tree Tree, id string, neighbors []AccountProof) error {
	for _, p := range neighbors {
		if err := p.Verify(tree); err != nil {
			return err
		}
	}
	wrong := errors.New("translog: the proofs do not show that account " + id + " is absent")
	switch len(neighbors) {
	case 0:
		if tree != EmptyTree() {
			return wrong
		}
	case 1:
		p := neighbors[0]
		first, last := p.Index == 0 && id < p.Account.ID, p.Index == tree.Size-1 && p.Account.ID < id
		if !first && !last {
			return wrong
		}
	case 2:
		a, b := neighbors[0], neighbors[1]
		if b.Index != a.Index+1 || a.Account.ID >= id || id >= b.Account.ID {
			return wrong
		}
	default:
		return wrong
	}
	return nil
}
