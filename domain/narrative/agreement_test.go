package narrative_test

import (
	"compress/gzip"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/narrative"
	"vqa/domain/query"
)

// claim is a question that a sentence answers with yes.
type claim struct {
	question query.Question
	text     string
}

var (
	about    = regexp.MustCompile(`^(.+?) (?:is|are|appears?|enters?|leaves?|moves|walks|stands|sits|lies)\b`)
	words    = map[string]int{"both": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6}
	plurals  = map[string]string{"people": "person", "dogs": "dog", "cars": "car", "balls": "sports ball", "ball": "sports ball"}
	happened = []struct {
		said  *regexp.Regexp
		value string
	}{
		{regexp.MustCompile(` enters? from the (left|right|top|bottom)\.$`), "entering from $1"},
		{regexp.MustCompile(` leaves? (?:to|at) the (left|right|top|bottom)\.$`), "leaving toward $1"},
		{regexp.MustCompile(` walks to the `), "walking"},
		{regexp.MustCompile(` moves to the `), "moving"},
		{regexp.MustCompile(` stands up\.$`), "standing"},
		{regexp.MustCompile(` sits down\.$`), "sitting"},
		{regexp.MustCompile(` lies down\.$`), "lying"},
	}
)

// claims are the questions to which a sentence says yes.
func claims(text string) []claim {
	var out []claim
	body := strings.TrimPrefix(text, "The scene changes: ")
	said := about.FindStringSubmatch(body)
	if said == nil || strings.Contains(text, "certainty") {
		return nil
	}
	plain := strings.NewReplacer("pairs of ", "", "pair of ", "", "pieces of ", "", "piece of ", "").Replace(strings.ToLower(said[1]))
	for _, phrase := range regexp.MustCompile(`, | and `).Split(plain, -1) {
		number, name := 1, ""
		for _, w := range strings.Fields(phrase) {
			switch n := words[w]; {
			case n > 0:
				number = max(number, n)
			case slices.Contains([]string{"a", "an", "the", "of", "one", "all", "more", "another"}, w):
			default:
				name = strings.TrimSpace(name + " " + w)
			}
		}
		if one, ok := plurals[name]; ok {
			name = one
		}
		thing := query.Thing{Term: name}
		out = append(out, claim{query.Question{Ask: query.AskWhether, Body: query.Is{Thing: thing}}, text})
		if number > 1 {
			of := query.Number{Quantity: query.Quantity{Op: query.AtLeast, Value: number}, Thing: thing}
			out = append(out, claim{query.Question{Ask: query.AskWhether, Body: of}, text})
		}
		for _, h := range happened {
			if m := h.said.FindStringSubmatchIndex(body); m != nil {
				value := string(h.said.ExpandString(nil, h.value, body, m))
				thing.Conditions = []query.Condition{{Kind: query.KindAction, Value: value}}
				out = append(out, claim{query.Question{Ask: query.AskWhether, Body: query.Is{Thing: thing}}, text})
				thing.Conditions = nil
			}
		}
		if strings.HasSuffix(text, "no longer visible.") && !strings.Contains(phrase, "of the") {
			out = append(out, claim{query.Question{Ask: query.AskWhen, Body: query.Not{Of: query.Is{Thing: thing}}}, text})
		}
	}
	return out
}

// contradictions are the claims of a narrative that an answer denies.
func contradictions(t require.TestingT, ev evidence.Evidence, entries []narrative.Entry) (checked int, out []string) {
	for _, e := range entries {
		for _, c := range claims(e.Text) {
			q, err := query.Encode(c.question)
			require.NoError(t, err, c.text)
			require.True(t, answer.Assessable(q), "%s: %v", c.text, c.question)
			checked++
			if r := answer.Decide(q, ev, answer.CPU()); r.Answer != answer.Yes {
				out = append(out, strings.Join([]string{c.text, string(r.Answer), r.Undecided}, " | "))
			}
		}
	}
	return checked, out
}

// wandering draws an object of a class along a random path into the frames.
func wandering(r *rand.Rand, frames []evidence.Frame, class string) {
	first, last := r.IntN(len(frames)), 0
	last = first + r.IntN(len(frames)-first)
	x, y := r.Float64(), .3+.4*r.Float64()
	dx, size, score := (r.Float64()-.5)/4*float64(r.IntN(2)), .05+.2*r.Float64(), .25+.65*r.Float64()
	legs := [][3]float64{standing, sitting}[r.IntN(2)]
	for i := first; i <= last; i++ {
		x += dx + .01*r.NormFloat64()
		if r.IntN(12) == 0 {
			dx = -dx
		}
		if r.IntN(10) == 0 {
			legs = [][3]float64{standing, sitting}[r.IntN(2)]
		}
		box := evidence.Box{X1: max(x-size/2, 0), Y1: max(y-size, 0), X2: min(x+size/2, 1), Y2: min(y+size, 1)}
		if r.IntN(8) == 0 || box.X2-box.X1 < .01 {
			continue
		}
		d := evidence.Detection{Box: box}
		if class == "person" {
			d = person((box.X1+box.X2)/2, legs)
			d.Box.X1, d.Box.X2 = box.X1, box.X2
		}
		d.Term, d.Score = slices.Index(coco, class), min(max(score+.1*r.NormFloat64(), .05), .99)
		frames[i].Detections = append(frames[i].Detections, d)
	}
}

// TestNarrativesAgreeWithAnswers asks for everything that narratives of random videos say.
func TestNarrativesAgreeWithAnswers(t *testing.T) {
	t.Parallel()
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		step := []float64{.5, .5, .25, 2}[r.IntN(4)]
		ev := newVideo(0).evidence()
		ev.IntervalS = step
		cut := r.IntN(80)
		for i := range 4 + r.IntN(40) {
			f := evidence.Frame{At: step * float64(i)}
			if cut < 40 {
				f.Shades = shadesAt(70 * math.Floor(float64(i)/float64(cut+1)))
			}
			ev.Frames = append(ev.Frames, f)
		}
		ev.DurationS = step * float64(len(ev.Frames))
		for range 1 + r.IntN(5) {
			wandering(r, ev.Frames, []string{"person", "person", "dog", "car", "sports ball"}[r.IntN(5)])
		}
		entries := narrative.Write(ev, answer.CPU())
		n, denied := contradictions(t, ev, entries)
		checked += n
		require.Empty(t, denied, "%v", entries)
	})
	require.Positive(t, checked)
}

// TestNarrativesOfClipsAgree does the same with clips: EVIDENCE is the folder of "vqa eval --evidence".
func TestNarrativesOfClipsAgree(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("EVIDENCE")
	if folder == "" {
		t.Skip(`needs clips: run "vqa eval --evidence FOLDER CLIPS", then the test with EVIDENCE=FOLDER`)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*."+answer.CPUWeights+".gob.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		file, err := os.Open(path)
		require.NoError(t, err)
		zip, err := gzip.NewReader(file)
		require.NoError(t, err)
		var seen struct {
			DecodedS float64
			Evidence evidence.Evidence
		}
		require.NoError(t, gob.NewDecoder(zip).Decode(&seen), path)
		require.NoError(t, file.Close())
		ev := seen.Evidence
		ev.Frames, ev.IntervalS, ev.DurationS = nil, .5, seen.DecodedS
		for _, f := range seen.Evidence.Frames {
			if math.Mod(f.At, .5) == 0 {
				ev.Frames = append(ev.Frames, f)
			} else {
				ev.Fine = append(ev.Fine, f)
			}
		}
		entries := narrative.Write(ev, answer.CPU())
		checked, denied := contradictions(t, ev, entries)
		t.Logf("%s: %d sentences, %d questions", filepath.Base(path), len(entries), checked)
		require.Empty(t, denied, "%s: %v", path, entries)
	}
}
