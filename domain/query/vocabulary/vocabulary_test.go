package vocabulary

import (
	"strings"
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
		"elephent": {"elephant"}, "elefant": {"elephant"}, "girafe": {"giraffe"}, "umbrela": {"umbrella"}, "personn": {"person"},
		"wine glasses": {"wine glass"}, "knives": {"knife"}, "knifes": {"knife"}, "sheep": {"sheep"}, "bus": {"bus"}, "buses": {"bus"},
		"bowl of oranges": {"bowl"}, "slice of pizza": {"pizza"}, "cups of coffee": {"cup"}, "cyclist": {"person"},
		// These are known from WordNet alone.
		"goalkeeper": {"person"}, "grandmothers": {"person"}, "corgi": {"dog"}, "ostrich": {"bird"}, "stallions": {"horse"},
		"hatchback": vehicles, "schoolchildren": {"person"}, "polar bears": {"bear"}, "border collie": {"dog"},
	}
	for term, want := range cases {
		got, ok := COCO().Lookup(term)
		require.True(t, ok, term)
		require.Equal(t, want, got, term)
	}
	for _, term := range []string{"unicorn", "", "cas", "goat", "rocket", "grass", "house", "castle", "xyz", "dog house", "pear", "box of bananas",
		"bag of apples", "driver", "passenger", "coach", "coaches", "lion", "wheelchair", "stroller", "toy", "river", "coach house", "parrott fish"} {
		got, ok := COCO().Lookup(term)
		require.False(t, ok, "%q gives %v", term, got)
	}
}

// TestThingsAreNoClasses checks common things that no class covers. WordNet has many of them as
// people first, such as the stroller, the trailer and the tiger.
func TestThingsAreNoClasses(t *testing.T) {
	t.Parallel()
	for term := range strings.FieldsSeq(`adapter ashtray barrel basket belt box bridge broom bucket bulldozer cage camera candle cane card
		carriage cart charger chest coaster coat cone container controller counter cover crane crate curtain cutter deck desk diner dish
		dishwasher display doll door drill drone drum dryer dumpster elevator envelope escalator excavator extinguisher fan fence figure
		filter flag flower fountain freezer garden gate guitar hammer hanger harness harvester hat heater helicopter helmet hood hose
		house jumper kettle key ladder lamp leaf leash letter lighter lock locker mailer mannequin marker mask mixer model mop mower
		organizer package painting paper peeler pen picture pillow pipe pitcher planter plate plotter poster printer projector pump rack
		radio recorder robot rocker roller router ruler scanner scarecrow scrubber shaker shaver shelf shredder sign skirt slide slider
		slipper sprinkler stapler star statue stick stool stove_pipe stroller submarine sweeper swing switch tablet tent toaster_oven
		tower toy tractor trailer tray tree tripod trolley trophy vacuum veil walker wall wallet washer watch water wheel wheelchair
		wiper baboon bat beaver bison crab deer donkey fish fox frog goat hamster kangaroo lion lizard monkey octopus panda pig piranha
		rabbit raccoon rat seal shark shrimp skunk snake spider squirrel tiger turtle weasel whale wolf team family band class driver`) {
		term = strings.ReplaceAll(term, "_", " ")
		got, ok := COCO().Lookup(term)
		require.False(t, ok, "%q gives %v", term, got)
	}
}

func TestTablesAreConsistent(t *testing.T) {
	t.Parallel()
	require.Len(t, cocoClasses, 80)
	require.Greater(t, len(entries), 200)
	for word, e := range entries {
		require.Equal(t, word, Singular(word), "the tables must not list plurals: Singular finds them")
		require.Contains(t, []relation{same, narrower, partly, unknown}, e.relation, word)
		for _, c := range e.classes {
			require.Contains(t, cocoClasses, c, word)
		}
	}
	for class, kind := range kinds {
		require.Contains(t, cocoClasses, class)
		require.Contains(t, []Kind{Person, Animal, Vehicle, Big}, kind)
	}
	for form, verbs := range irregular {
		for word, base := range verbs {
			require.True(t, verbUses(base) >= 0, "%s: %s is no verb", word, base)
			got, ok := BaseVerb(word, form)
			require.True(t, ok, word)
			require.Equal(t, base, got, word)
		}
	}
	for word, plain := range slang {
		require.NotContains(t, cocoClasses, word)
		for w := range strings.FieldsSeq(plain) {
			require.True(t, English(w), "%s: %s", word, w)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	require.True(t, COCO().Covers("dog"))
	require.True(t, COCO().Covers("puppy"))
	require.True(t, COCO().Covers("corgi"))
	require.False(t, COCO().Covers("animal"), "a rabbit is an animal that no class covers")
	require.False(t, COCO().Covers("unicorn"))
}

func TestNarrower(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"woman", "men", "puppy", "kittens", "pedestrian", "taxi", "pickup truck", "football", "mug", "ship", "pupppy",
		"bottle of milk", "piece of cake", "corgi", "goalkeeper", "hatchback"} {
		require.True(t, COCO().Narrower(term), term)
		require.True(t, COCO().Covers(term), "%s: no instance without its class", term)
	}
	for _, term := range []string{"person", "people", "someone", "dog", "doggy", "car", "truck", "ball", "bike", "animal", "rose", "unicorn", ""} {
		require.False(t, COCO().Narrower(term), term)
	}
}

func TestConfused(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"truck"}, COCO().Confused("cars"))
	for _, term := range []string{"truck", "van", "vehicle", "hatchback", "unicorn"} {
		require.Empty(t, COCO().Confused(term), term)
	}
}

func TestClassesPutsOtherClassesLast(t *testing.T) {
	t.Parallel()
	got := COCO().Classes("car")
	require.Len(t, got, 80)
	require.Equal(t, []string{"car", "truck", "person"}, got[:3])
	got = COCO().Classes("unicorn")
	require.Len(t, got, 81)
	require.Equal(t, "unicorn", got[0])
	require.Equal(t, []string{"car"}, Vocabulary{}.Classes("car"), "an open vocabulary takes the term itself")
}

// TestOtherModels checks that a model keeps its own classes and gets the everyday words for the
// classes that it shares with COCO.
func TestOtherModels(t *testing.T) {
	t.Parallel()
	require.Equal(t, COCO().Names(), Of(COCO().Names()).Names())
	open := Of(nil)
	require.True(t, open.Open())
	for _, term := range []string{"woman", "corgi"} {
		_, ok := open.Lookup(term)
		require.False(t, ok)
		require.False(t, open.Narrower(term), "an open model takes the word itself")
		require.Equal(t, []string{term}, open.Classes(term))
	}

	v := Of([]string{"Person", "woman", "dog", "car", "flower", "driver"})
	require.False(t, v.Open())
	for term, want := range map[string]string{
		"people": "Person", "woman": "woman", "women": "woman", "doggy": "dog", "man": "Person", "car": "car", "flower": "flower",
		"vehicle": "car", "driver": "driver", "goalkeeper": "Person", "corgi": "dog",
	} {
		got, ok := v.Lookup(term)
		require.True(t, ok, term)
		require.Equal(t, []string{want}, got, term)
	}
	require.True(t, v.Narrower("man"))
	require.False(t, v.Narrower("woman"), "the word is a class of the model")
	require.False(t, v.Covers("vehicle"))
	for _, term := range []string{"taxi", "cat", "kitten", "sofa", "automobile", "ostrich", "sloop"} {
		_, ok := v.Lookup(term)
		require.False(t, ok, "%s must be unknown: the model lacks one of its classes", term)
	}
	require.Equal(t, []string{"dog", "Person", "woman", "car", "flower", "driver"}, v.Classes("dog"))
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]Kind{
		"person": Person, "dog": Animal, "giraffe": Animal, "car": Vehicle, "boat": Vehicle, "couch": Big, "bench": Big, "refrigerator": Big,
		"fire hydrant": Small, "cup": Small, "microwave": Big, "puppy": Animal, "woman": Person, "hatchback": Vehicle, "excavator": Small, "": Small,
	} {
		require.Equal(t, want, KindOf(class), class)
	}
	counts := map[Kind]int{}
	for _, class := range cocoClasses {
		counts[KindOf(class)]++
	}
	require.Equal(t, map[Kind]int{Person: 1, Animal: 10, Vehicle: 8, Big: 12, Small: 49}, counts)
}

func TestRiding(t *testing.T) {
	t.Parallel()
	require.Equal(t, "bicycle", Riding("cyclist"))
	require.Equal(t, "nothing", Riding("pedestrian"))
	require.Empty(t, Riding("surfer"))
}
