package query

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	vehicles := []string{"car", "truck"}
	cases := map[string][]string{
		"dog": {"dog"}, "puppy": {"dog"}, "dogs": {"dog"}, "kitten": {"cat"},
		"man": {"person"}, "women": {"person"}, "child": {"person"}, "kids": {"person"}, "pedestrian": {"person"},
		"bike": {"bicycle"}, "bycicle": {"bicycle"}, "bicycel": {"bicycle"}, "bicycles": {"bicycle"},
		"motorbike": {"motorcycle"}, "motorcylce": {"motorcycle"},
		"sofa": {"couch"}, "television": {"tv"}, "tv": {"tv"}, "phone": {"cell phone"}, "cell phone": {"cell phone"},
		"car": vehicles, "automobile": vehicles, "cars": vehicles, "truck": {"truck"},
		"ship": {"boat"}, "plane": {"airplane"}, "ball": {"sports ball"}, "balls": {"sports ball"},
		"elephent": {"elephant"}, "girafe": {"giraffe"}, "umbrela": {"umbrella"}, "personn": {"person"},
		"wine glasses": {"wine glass"}, "knives": {"knife"}, "sheep": {"sheep"}, "bus": {"bus"}, "buses": {"bus"},
		"bowl of oranges": {"bowl"}, "slice of pizza": {"pizza"}, "cups of coffee": {"cup"}, "cyclist": {"person"},
	}
	for term, want := range cases {
		got, ok := COCO().Lookup(term)
		require.True(t, ok, term)
		require.Equal(t, want, got, term)
	}
	for _, term := range []string{"unicorn", "", "cas", "goat", "rocket", "grass", "house", "castle", "xyz", "dog house", "pear", "box of bananas", "bag of apples"} {
		got, ok := COCO().Lookup(term)
		require.False(t, ok, "%q gives %v", term, got)
	}
}

func TestVocabularyTablesAreConsistent(t *testing.T) {
	t.Parallel()
	require.Len(t, cocoClasses, 80)
	for _, table := range []map[string][]string{cocoSynonyms, cocoNarrower, cocoCollective} {
		for word, classes := range table {
			require.Equal(t, word, singular(word), "the tables must not list plurals: singular finds them")
			for _, c := range classes {
				require.Contains(t, cocoClasses, c, word)
			}
		}
	}
	for word := range lookalikes {
		_, known := coco.meanings[word]
		require.False(t, known, "%q is both a term and a lookalike", word)
		corrected, ok := coco.correct(word)
		require.False(t, ok, "%q is read as %v", word, corrected.classes)
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	require.True(t, COCO().Covers("dog"))
	require.True(t, COCO().Covers("puppy"))
	require.False(t, COCO().Covers("animal"), "a rabbit is an animal that no class covers")
	require.False(t, COCO().Covers("unicorn"))
}

func TestNarrower(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"woman", "men", "puppy", "kittens", "pedestrian", "taxi", "pickup truck", "football", "mug", "ship", "pupppy", "bottle of milk", "piece of cake"} {
		require.True(t, COCO().Narrower(term), term)
		require.True(t, COCO().Covers(term), "%s: no instance without its class", term)
	}
	for _, term := range []string{"person", "people", "someone", "dog", "doggy", "car", "truck", "ball", "bike", "animal", "rose", "unicorn", ""} {
		require.False(t, COCO().Narrower(term), term)
	}
}

func TestClassesPutsOtherClassesLast(t *testing.T) {
	t.Parallel()
	got := COCO().Classes(Compile("Is there a car?"))
	require.Len(t, got, 80)
	require.Equal(t, []string{"car", "truck", "person"}, got[:3])
	got = COCO().Classes(Compile("Is there a unicorn?"))
	require.Len(t, got, 81)
	require.Equal(t, "unicorn", got[0])
	require.Equal(t, []string{"car"}, Vocabulary{}.Classes(Compile("Is there a car?")), "an open vocabulary takes the term itself")
}

// TestVocabularyOfOtherModels checks that a model keeps its own classes and gets the everyday
// words for the classes that it shares with COCO.
func TestVocabularyOfOtherModels(t *testing.T) {
	t.Parallel()
	require.Equal(t, COCO().Names(), VocabularyOf(COCO().Names()).Names())
	open := VocabularyOf(nil)
	require.True(t, open.Open())
	_, ok := open.Lookup("woman")
	require.False(t, ok)
	require.False(t, open.Narrower("woman"), "an open model takes the word itself")
	require.Equal(t, []string{"woman"}, open.Classes(Compile("Is there a woman?")))

	v := VocabularyOf([]string{"Person", "woman", "dog", "car", "flower"})
	require.False(t, v.Open())
	for term, want := range map[string]string{"people": "Person", "woman": "woman", "women": "woman", "doggy": "dog", "man": "Person", "car": "car", "flower": "flower", "vehicle": "car"} {
		got, ok := v.Lookup(term)
		require.True(t, ok, term)
		require.Equal(t, []string{want}, got, term)
	}
	require.True(t, v.Narrower("man"))
	require.False(t, v.Narrower("woman"), "the word is a class of the model")
	require.False(t, v.Covers("vehicle"))
	for _, term := range []string{"taxi", "cat", "kitten", "sofa", "automobile"} {
		_, ok := v.Lookup(term)
		require.False(t, ok, "%s must be unknown: the model lacks one of its classes", term)
	}
	require.Equal(t, []string{"dog", "Person", "woman", "car", "flower"}, v.Classes(Compile("Is there a dog?")))
}

func TestSingular(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"people": "person", "men": "man", "policemen": "policeman", "children": "child", "boxes": "box", "cities": "city",
		"benches": "bench", "glasses": "glass", "horses": "horse", "vases": "vase", "suitcases": "suitcase",
		"scissors": "scissors", "bus": "bus", "tvs": "tv", "zebras": "zebra", "cell phones": "cell phone",
		"teddy bears": "teddy bear", "skis": "skis", "oxen": "ox", "shoes": "shoe", "toothbrushes": "toothbrush",
		"mice": "mouse", "knives": "knife", "sheep": "sheep", "tennis": "tennis", "dog": "dog", "": "",
	}
	for plural, want := range cases {
		require.Equal(t, want, singular(plural), plural)
	}
}

func TestOneEdit(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"bicycle", "bycicle"}, {"bicycle", "bicyle"}, {"bicycle", "bicyclle"}, {"bicycle", "bicycla"}, {"abc", "bac"}} {
		require.True(t, oneEdit(pair[0], pair[1]), "%v", pair)
		require.True(t, oneEdit(pair[1], pair[0]), "%v", pair)
	}
	for _, pair := range [][2]string{{"bicycle", "bicycle"}, {"bicycle", "tricycle"}, {"abcd", "badc"}, {"", "ab"}} {
		require.False(t, oneEdit(pair[0], pair[1]), "%v", pair)
	}
}
