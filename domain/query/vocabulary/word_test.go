package vocabulary

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSingular(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"people": "person", "men": "man", "policemen": "policeman", "children": "child", "boxes": "box", "cities": "city",
		"benches": "bench", "glasses": "glass", "horses": "horse", "vases": "vase", "suitcases": "suitcase",
		"scissors": "scissors", "bus": "bus", "tvs": "tv", "zebras": "zebra", "cell phones": "cell phone",
		"teddy bears": "teddy bear", "skis": "skis", "oxen": "ox", "shoes": "shoe", "toothbrushes": "toothbrush",
		"mice": "mouse", "knives": "knife", "sheep": "sheep", "tennis": "tennis", "dog": "dog", "": "",
		"wolves": "wolf", "gloves": "glove", "leaves": "leaf", "potatoes": "potato", "puppies": "puppy", "cookies": "cookie",
		"movies": "movie", "ties": "tie", "axes": "axe", "lenses": "lens", "specimen": "specimen", "jeans": "jeans", "geese": "goose",
		"childrens": "child", "womens": "woman", "wine glasses": "wine glass", "is": "is", "this": "this", "always": "always", "zorbs": "zorb", "trousers": "trousers",
	}
	for plural, want := range cases {
		require.Equal(t, want, Singular(plural), plural)
	}
}

func TestBaseVerb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, want string
		form       Form
	}{
		{"ride", "ride", Base}, {"rides", "ride", Third}, {"rode", "ride", Past}, {"ridden", "ride", Participle}, {"riding", "ride", Gerund},
		{"runs", "run", Third}, {"running", "run", Gerund}, {"runing", "run", Gerund}, {"lying", "lie", Gerund}, {"carries", "carry", Third},
		{"carried", "carry", Past}, {"watches", "watch", Third}, {"goes", "go", Third}, {"stopped", "stop", Past}, {"opened", "open", Participle},
		{"wore", "wear", Past}, {"sat", "sit", Participle}, {"is", "be", Third}, {"seen", "see", Participle}, {"waving", "wave", Gerund},
	} {
		got, ok := BaseVerb(c.word, c.form)
		require.True(t, ok, c.word)
		require.Equal(t, c.want, got, c.word)
	}
	for word, form := range map[string]Form{"wore": Participle, "worn": Past, "ceiling": Gerund, "red": Past, "elephant": Base, "ing": Gerund, "": Base, "s": Third} {
		got, ok := BaseVerb(word, form)
		require.False(t, ok, "%s gives %s", word, got)
	}
}

func TestGerundOf(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"run": "running", "ride": "riding", "lie": "lying", "see": "seeing", "be": "being", "open": "opening", "eat": "eating", "play": "playing",
		"begin": "beginning", "visit": "visiting", "quit": "quitting", "wait": "waiting", "fix": "fixing", "dye": "dyeing", "swim": "swimming", "climb": "climbing", "go": "going",
	} {
		require.Equal(t, want, GerundOf(base))
	}
}

func TestCorrect(t *testing.T) {
	t.Parallel()
	s := NewSpelling([]string{"juggling"})
	for word, want := range map[string]string{
		"bycicle": "bicycle", "elefant": "elephant", "umbrela": "umbrella", "persn": "person", "vido": "video", "wiht": "with", "lefft": "left",
		"jugling": "juggling", "bycycles": "bicycle", "yelow": "yellow", "runing": "running", "peopel": "people", "thre": "thre",
	} {
		require.Equal(t, want, s.Correct(word), word)
	}
	// English words are never changed, although some are near a known word.
	for _, word := range []string{
		"river", "coach", "parrot", "boast", "knifes", "carrots", "house", "tracks", "bicycled", "wondering", "closer", "sleepiest", "goat",
		"worked", "stole", "would", "which", "phoned", "lease", "castle", "geese",
	} {
		require.Equal(t, word, s.Correct(word))
	}
	// Neither are names, other scripts, short words and words that are near nothing, or near two.
	for _, word := range []string{"", "犬", "d0g", "dgo", "Pearson", "zzzzz", "hund", "giraf", "whire", "c3po", "x"} {
		require.Equal(t, word, s.Correct(word))
	}
}

// TestLexiconIsNeverChanged checks every word of WordNet, and its regular inflections.
func TestLexiconIsNeverChanged(t *testing.T) {
	t.Parallel()
	s := NewSpelling(nil)
	lexicon, err := os.ReadFile("wordnet/wordnet.txt")
	require.NoError(t, err)
	words := 0
	for line := range strings.Lines(string(lexicon)) {
		w, parts, _ := strings.Cut(line, " ")
		if w == "#" || strings.Contains(w, "_") {
			continue
		}
		words++
		if got := s.Correct(w); got != w {
			t.Errorf("%s became %s", w, got)
		}
		if strings.HasPrefix(parts, "v") && !strings.Contains(w, "-") {
			if got := s.Correct(GerundOf(w)); got != GerundOf(w) {
				t.Errorf("%s became %s", GerundOf(w), got)
			}
		}
	}
	require.Greater(t, words, 80_000)
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"bicycle", "bycicle", 2}, {"bicycle", "bicyle", 1}, {"bicycle", "bicyclle", 1}, {"bicycle", "bicycla", 1}, {"abc", "bac", 1},
		{"bicycle", "bicycle", 0}, {"bicycle", "tricycle", 2}, {"abcd", "badc", 2}, {"", "ab", 2}, {"", "abcd", 3}, {"elefant", "elephant", 2},
	} {
		require.Equal(t, c.want, edits(c.a, c.b, 2), "%s, %s", c.a, c.b)
		require.Equal(t, c.want, edits(c.b, c.a, 2), "%s, %s", c.b, c.a)
	}
	require.True(t, swapped("wiht", "with"))
	require.False(t, swapped("wish", "with"))
	require.False(t, swapped("with", "with"))
	require.False(t, swapped("", ""))
}

func TestPlain(t *testing.T) {
	t.Parallel()
	require.Equal(t, "are not", Plain("arent"))
	require.Equal(t, "people", Plain("ppl"))
	require.Equal(t, "dogs", Plain("doggos"))
	require.Equal(t, "dog", Plain("dog"))
}
