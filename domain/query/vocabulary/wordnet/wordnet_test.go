package wordnet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]Word{
		"dog":              {Noun: 42, Verb: 2, Adjective: None, Adverb: None, Physical: true, Kind: "dog"},
		"golden retriever": {Noun: 0, Verb: None, Adjective: None, Adverb: None, Physical: true, Kind: "dog"},
		"wear":             {Noun: 0, Verb: 116, Adjective: None, Adverb: None, Physical: true},
		"quickly":          {Noun: None, Verb: None, Adjective: None, Adverb: 40},
	} {
		got, ok := Lookup(word)
		require.True(t, ok, word)
		require.Equal(t, want, got, word)
	}
	for _, word := range []string{"", "wore", "geese", "elefant", "zzz", "#", "a ", "dog n42p", "albert einstein"} {
		got, ok := Lookup(word)
		require.False(t, ok, word)
		require.Equal(t, Word{Noun: None, Verb: None, Adjective: None, Adverb: None}, got)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"ostrich": "bird", "hen": "bird", "corgi": "dog", "stallion": "horse", "ewe": "sheep", "polar bear": "bear",
		"hatchback": "car", "tandem bicycle": "bicycle", "biplane": "airplane", "sloop": "boat", "guest": "person",
		"goat": "", "lion": "", "lynx": "", "wheelchair": "", "river": "", "wheel": "", "driver": "",
	} {
		got, ok := Lookup(word)
		require.True(t, ok, word)
		require.Equal(t, want, got.Kind, word)
	}
}

// TestEveryLineIsFound checks that the file is sorted as the search expects, that each of its
// lines parses, and that the license is in front.
func TestEveryLineIsFound(t *testing.T) {
	t.Parallel()
	require.Contains(t, text[:2000], "# WordNet 3.1 Copyright 2011 by Princeton University.")
	words := 0
	for line := range strings.Lines(text) {
		if line[0] == '#' {
			continue
		}
		word, _, _ := strings.Cut(line, " ")
		w, ok := Lookup(strings.ReplaceAll(word, "_", " "))
		require.True(t, ok, word)
		require.True(t, w.Noun >= 0 || w.Verb >= 0 || w.Adjective >= 0 || w.Adverb >= 0, word)
		words++
	}
	require.Greater(t, words, 100_000)
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		Lookup("raincoat")
	}
}
