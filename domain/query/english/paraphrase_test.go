package english_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/query"
	"vqa/domain/query/english"
)

// paraphrases are wordings of the same question; {n} is a noun, {ns} its plural.
var paraphrases = [][]string{
	{"is there a {n}", "are there any {ns}", "does a {n} appear", "can you see a {n}", "is a {n} visible", "do you see any {ns}",
		"does the video show a {n}", "any {ns}", "there is a {n}", "is there at any point a {n}", "does it contain {ns}"},
	{"is there no {n}", "are there no {ns}", "is the {n} absent", "is the video free of {ns}", "there are no {ns}", "no {ns}",
		"is there not a single {n}", "is no {n} visible", "does the video lack {ns}", "does the video not contain a {n}"},
	{"how many {ns} are there", "count the {ns}", "what is the number of {ns}", "number of {ns}", "how many {ns} can you see",
		"give me the count of {ns}", "how many {ns} appear"},
	{"are there at least three {ns}", "at least 3 {ns}", "are there three or more {ns}", "are there 3+ {ns}",
		"are there no fewer than three {ns}", "is the number of {ns} at least 3", "are there >= 3 {ns}"},
	{"are there more than two {ns}", "more than 2 {ns}", "is the number of {ns} greater than two", "does the number of {ns} exceed 2"},
	{"is a {n} running", "is there a running {n}", "does a {n} run", "is there a {n} that is running", "is the {n} jogging", "{n} running"},
	{"is there a red {n}", "is the {n} red", "is there a {n} that is red", "is the color of the {n} red", "is the {n} red in colour",
		"red {n}", "is there a red-coloured {n}"},
	{"is there a {n} on the left", "is the {n} on the left side", "is there a {n} in the left third of the frame",
		"is a {n} at the far left of the image", "{n} on the left-hand side", "is the {n} to the left"},
	{"is there a {n} next to a car", "is the {n} beside the car", "is there a {n} alongside a car", "is a {n} by the car"},
	{"is a {n} walking", "is a {n} walking down the street", "is a {n} walking along the road", "is a {n} walking on the sidewalk",
		"is there a {n} walking on the path", "does a {n} walk up the street", "is a {n} walking on the ground"},
	{"is there a {n} on a chair", "is there a {n} in a chair", "is a {n} on the chair", "is the {n} in the chair"},
	{"when does the {n} appear", "when is there a {n}", "at what time does a {n} appear", "show me when a {n} appears",
		"at which second is a {n} visible", "give me the timestamps of the {n}"},
	{"is there a {n} in the first 10 seconds", "does a {n} appear during the first ten seconds", "in the first 10s, is there a {n}",
		"within the initial 10 seconds of the video, can you see a {n}"},
	{"is there a {n} between 0:05 and 0:12", "is there a {n} from 5 to 12 seconds", "is there a {n} between seconds 5 and 12",
		"between 5 and 12 seconds, is there a {n}", "is there a {n} 0:05-0:12"},
	{"is there a {n} and a car", "are there a {n} and a car in the same frame", "do a {n} and a car appear together",
		"is there both a {n} and a car", "is there a {n} as well as a car"},
	{"is there a {n} or a car", "is there either a {n} or a car", "a {n} or a car", "does a {n} or a car appear"},
	{"is there a {n} but no car", "is there a {n} and no car", "is there a {n} without a car", "is there a {n} and not a car"},
}

var nounForms = [][2]string{
	{"dog", "dogs"}, {"person", "people"}, {"bench", "benches"}, {"fire hydrant", "fire hydrants"}, {"woman", "women"},
	{"knife", "knives"}, {"bicycle", "bicycles"}, {"sheep", "sheep"}, {"bus", "buses"}, {"teddy bear", "teddy bears"},
}

var wrappings = []string{
	"{q}?", "{Q}?", "please tell me whether {q}", "Hi, {q}? Thanks!", "I would like to know if {q}.", "{q}, please", "{q} in the video?",
	"Look at the video. {Q}?", "In this clip, {q}?", "{q}? Yes or no.", "  {q}  ", "Could you check if {q}?",
}

// TestParaphrasesCompileAlike checks that wording, number, politeness and case do not change
// the query. The field presupposed is left out: "the dog" sets it, "a dog" does not.
func TestParaphrasesCompileAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wordings := rapid.SampledFrom(paraphrases).Draw(t, "wordings")
		noun := rapid.SampledFrom(nounForms).Draw(t, "noun")
		ask := func(wording, wrapping string) (string, query.Query) {
			q := strings.NewReplacer("{ns}", noun[1], "{n}", noun[0]).Replace(wording)
			prompt := strings.NewReplacer("{q}", q, "{Q}", strings.ToUpper(q[:1])+q[1:]).Replace(wrapping)
			compiled := english.Compile(prompt)
			compiled.OriginalPrompt = nil
			for i := range compiled.Subjects {
				compiled.Subjects[i].Presupposed = false
			}
			return prompt, compiled
		}
		plain, want := ask(wordings[0], "{q}?")
		prompt, got := ask(rapid.SampledFrom(wordings).Draw(t, "wording"), rapid.SampledFrom(wrappings).Draw(t, "wrapping"))
		if want.PromptIntent == query.OpenEnded {
			t.Fatalf("%q is not read", plain)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q and %q differ (-want +got):\n%s", plain, prompt, diff)
		}
	})
}

// TestMisspellingsAreCorrected checks that one extra, missing or wrong letter in a known word
// does not change the query.
func TestMisspellingsAreCorrected(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"Is there a bicycle on the left?": {"Is there a bycicle on the left?", "Is thare a bicycle on the lefft?", "Is there a bicycel on teh left?"},
		"Are there any people?":           {"Are ther any peopel?", "Are there any peple?", "Are there any poeple?"},
		"Is a person walking?":            {"Is a persn walking?", "Is a persoon walkin?", "Is a person wallking?"},
		"Is there a yellow umbrella?":     {"Is there a yelow umbrella?", "Is there a yellow umbrela?", "Is there a yellw umbrella?"},
		"How many elephants are there?":   {"How many elephents are there?", "How many elephannts are there?"},
	}
	for right, slips := range cases {
		want := english.Compile(right)
		for _, slip := range slips {
			got := english.Compile(slip)
			got.OriginalPrompt = want.OriginalPrompt
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q is not read as %q (-want +got):\n%s", slip, right, diff)
			}
		}
	}
}

// TestKnownWordsAreNotCorrected checks that an English word is never read as a similar one.
func TestKnownWordsAreNotCorrected(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"goat", "boar", "parrot", "rocket", "block", "county", "frost", "skirt", "shift", "raisin", "world", "witch", "mane",
		"goose", "horde", "castle", "planet", "battle", "pebble", "bowler", "tablet", "trunk",
	} {
		q := english.Compile("Is there a " + word + "?")
		if len(q.Subjects) != 1 || q.Subjects[0].Term != word {
			t.Errorf("%q is read as %+v", word, q.Subjects)
		}
	}
	q := english.Compile("Is there a Bicycel?")
	if len(q.Subjects) == 1 && q.Subjects[0].Term == "bicycle" {
		t.Errorf("a name is corrected: %+v", q.Subjects)
	}
}

// TestNoWordIsDropped puts an unknown word at every position of a question that the rules
// understand. The word must be in the query, or the query must be open_ended.
func TestNoWordIsDropped(t *testing.T) {
	t.Parallel()
	const strange = "blorp"
	for _, golden := range corpus(t) {
		if golden.PromptIntent == query.OpenEnded {
			continue
		}
		words := strings.Fields(*golden.OriginalPrompt)
		for i := range len(words) + 1 {
			prompt := strings.Join(slices.Concat(words[:i], []string{strange}, words[i:]), " ")
			q := english.Compile(prompt)
			if q.PromptIntent == query.OpenEnded {
				continue
			}
			q.OriginalPrompt = nil
			raw, err := json.Marshal(q)
			require.NoError(t, err)
			if !strings.Contains(string(raw), strange) {
				t.Errorf("%q drops a word: %s", prompt, raw)
			}
		}
	}
}
