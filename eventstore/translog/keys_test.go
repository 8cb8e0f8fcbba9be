package translog_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
)

// keyOf returns a key that depends on a name alone.
func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	c := translog.Checkpoint{Origin: "example.org/ledger", Tree: translog.Tree{Size: 5, Root: translog.Hash{7}}}
	signed, err := c.Sign(keyOf("a"), keyOf("b"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(signed), "example.org/ledger\n5\n"+c.Root.String()+"\n\n— example.org/ledger "), "%s", signed)
	got, by, err := translog.OpenCheckpoint(signed, public(keyOf("b")), public(keyOf("c")))
	require.NoError(t, err)
	require.Equal(t, c, got)
	require.Equal(t, []ed25519.PublicKey{public(keyOf("b"))}, by)
	_, _, err = translog.OpenCheckpoint(signed, public(keyOf("c")))
	require.Error(t, err)
	_, _, err = translog.OpenCheckpoint(bytes.Replace(signed, []byte("\n5\n"), []byte("\n6\n"), 1), public(keyOf("a")))
	require.Error(t, err)
	for _, text := range []string{"", "a\n1\n", "a b\n1\n" + c.Root.String() + "\n", "a\n-1\n" + c.Root.String() + "\n", "a\n01\n" + c.Root.String() + "\n",
		"a\n1\n" + c.Root.String() + "\nextension\n", "a\n1\nAA==\n"} {
		_, err := translog.ParseCheckpoint(text)
		require.Error(t, err, "%q", text)
	}
	_, err = translog.Checkpoint{Origin: "two words"}.Sign(keyOf("a"))
	require.Error(t, err)
}

func TestWitness(t *testing.T) {
	t.Parallel()
	witness := keyOf("witness")
	raw := append([]byte{4}, public(witness)...)
	sum := sha256.Sum256(append([]byte("witness.example\n"), raw...))
	encoded := fmt.Sprintf("witness.example+%08x+%s", sum[:4], base64.StdEncoding.EncodeToString(raw))
	w, err := translog.ParseWitness(encoded)
	require.NoError(t, err)
	_, err = translog.ParseWitness(strings.Replace(encoded, "witness", "Witness", 1))
	require.Error(t, err)

	signed, err := translog.Checkpoint{Origin: "example.org/ledger", Tree: translog.EmptyTree()}.Sign(keyOf("a"))
	require.NoError(t, err)
	_, err = w.Cosigned(signed)
	require.Error(t, err)
	at := time.Unix(1_700_000_000, 0).UTC()
	text, _, _ := bytes.Cut(signed, []byte("\n\n"))
	message := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", at.Unix(), text)
	line := binary.BigEndian.AppendUint64(append([]byte(nil), sum[:4]...), uint64(at.Unix()))
	line = append(line, ed25519.Sign(witness, message)...)
	cosignature := fmt.Sprintf("— witness.example %s\n", base64.StdEncoding.EncodeToString(line))
	other := fmt.Sprintf("— witness.example %s\n", base64.StdEncoding.EncodeToString(append(line[:len(line)-1:len(line)-1], line[len(line)-1]^1)))
	got, when, err := w.Cosignature(signed, []byte("noise\n"+other+cosignature))
	require.NoError(t, err)
	require.Equal(t, []any{cosignature, at}, []any{string(got), when})
	both := append(bytes.Clone(signed), got...)
	when, err = w.Cosigned(both)
	require.NoError(t, err)
	require.Equal(t, at, when)
	_, _, err = translog.OpenCheckpoint(both, public(keyOf("a")))
	require.NoError(t, err, "a cosigned checkpoint is still a checkpoint")
	for _, bad := range []string{"", "hello\n", "— cut", other, strings.TrimSuffix(cosignature, "\n"), strings.Repeat("noise\n", 20) + cosignature} {
		_, _, err := w.Cosignature(signed, []byte(bad))
		require.Error(t, err, "%q", bad)
	}
}

// acts builds key statements.
type acts struct {
	t      *testing.T
	keys   translog.Keys
	signed [][]byte
}

func (a *acts) statement(action translog.Action, key ed25519.PublicKey, log, size int64) translog.Statement {
	s := a.keys.Next(action, key)
	s.Log, s.Size, s.Reason, s.Actor, s.At = log, size, "a reason\nof two lines", "ada", time.Unix(1_700_000_000, 0).UTC()
	return s
}

// try returns the error of one more statement.
func (a *acts) try(s translog.Statement, signers ...ed25519.PrivateKey) error {
	a.t.Helper()
	signed, err := s.Sign(signers...)
	require.NoError(a.t, err)
	_, err = translog.ReadKeys(append(a.signed[:len(a.signed):len(a.signed)], signed))
	return err
}

func (a *acts) add(s translog.Statement, signers ...ed25519.PrivateKey) {
	a.t.Helper()
	require.NoError(a.t, a.try(s, signers...))
	signed, err := s.Sign(signers...)
	require.NoError(a.t, err)
	a.signed = append(a.signed, signed)
	a.keys, err = translog.ReadKeys(a.signed)
	require.NoError(a.t, err)
}

func (a *acts) opens(key ed25519.PrivateKey, log, size int64) bool {
	a.t.Helper()
	signed, err := translog.Checkpoint{Origin: "o", Tree: translog.Tree{Size: size}}.Sign(key)
	require.NoError(a.t, err)
	_, err = a.keys.Open(log, signed)
	if err != nil {
		require.ErrorIs(a.t, err, translog.ErrUntrustedKey)
	}
	return err == nil
}

func TestKeys(t *testing.T) {
	t.Parallel()
	first, second, third, foreign := keyOf("1"), keyOf("2"), keyOf("3"), keyOf("foreign")
	a := &acts{t: t}
	require.Error(t, a.try(a.statement(translog.Rotate, public(first), 0, 0), first), "no key is pinned yet")
	require.Error(t, a.try(a.statement(translog.Pin, public(first), 0, 0), foreign), "another key signed")
	a.add(a.statement(translog.Pin, public(first), 1, 0), first)
	require.Error(t, a.try(a.statement(translog.Pin, public(foreign), 1, 0), foreign), "a second pin")

	require.True(t, a.opens(first, 1, 10))
	require.False(t, a.opens(foreign, 1, 10))

	require.Error(t, a.try(a.statement(translog.Rotate, public(foreign), 1, 10), foreign), "the old key has not signed")
	require.Error(t, a.try(a.statement(translog.Rotate, public(second), 1, 10), first), "the new key has not signed")
	a.add(a.statement(translog.Rotate, public(second), 1, 10), first, second)
	require.True(t, a.opens(first, 1, 10))
	require.False(t, a.opens(first, 1, 11), "the old key signs no more")
	require.True(t, a.opens(second, 1, 11))
	require.False(t, a.opens(second, 1, 10), "the new key did not sign then")
	require.False(t, a.keys.Lost())

	require.Error(t, a.try(a.statement(translog.Revoke, public(second), 1, 5), second), "the current key")
	require.Error(t, a.try(a.statement(translog.Revoke, public(foreign), 1, 5), second), "an unknown key")
	require.Error(t, a.try(a.statement(translog.Revoke, public(first), 1, 5), first), "signed by an old key")
	a.add(a.statement(translog.Revoke, public(first), 1, 5), second)
	require.True(t, a.opens(first, 1, 5))
	require.False(t, a.opens(first, 1, 6))

	a.add(a.statement(translog.Replace, public(third), 2, 100), third)
	require.True(t, a.keys.Lost())
	require.True(t, a.opens(third, 2, 101))
	require.True(t, a.opens(second, 2, 100))
	require.False(t, a.opens(second, 3, 1))
	require.Equal(t, public(third), a.keys.Current)

	_, err := translog.ReadKeys(a.signed, public(first))
	require.Error(t, err, "the new key of a loss is not pinned")
	_, err = translog.ReadKeys(a.signed, public(first), public(third))
	require.NoError(t, err)
	_, err = translog.ReadKeys(a.signed[:3], public(first))
	require.NoError(t, err, "a rotation needs no new pin")
	_, err = translog.ReadKeys(a.signed[:3], public(second))
	require.Error(t, err)

	_, err = translog.ReadKeys(append(a.signed[:1:1], a.signed[2:]...))
	require.Error(t, err, "a statement is missing")
	changed := bytes.Replace(a.signed[1], []byte("by ada"), []byte("by eve"), 1)
	_, err = translog.ReadKeys([][]byte{a.signed[0], changed})
	require.Error(t, err, "a statement was altered")
}

func TestAddCheckpointRequest(t *testing.T) {
	t.Parallel()
	signed := []byte("o\n5\nroot\n\n— o signature\n")
	require.Equal(t, "old 3\n"+translog.Hash{1}.String()+"\n\n"+string(signed), string(translog.AddCheckpointRequest(3, []translog.Hash{{1}}, signed)))
	require.Equal(t, "old 0\n\n"+string(signed), string(translog.AddCheckpointRequest(0, nil, signed)))
}
