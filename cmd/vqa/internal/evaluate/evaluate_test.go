package evaluate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
)

func result(answer string, count *int, clips ...[2]float64) *client.Result {
	r := &client.Result{Answer: answer, DetectedCount: count, Confidence: .9}
	for _, c := range clips {
		r.Clips = append(r.Clips, client.Clip{StartS: c[0], EndS: c[1], Confidence: .9})
	}
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	iou := func(f float64) *float64 { return &f }
	tests := map[string]struct {
		truth   Case
		got     *client.Result
		right   bool
		overlap *float64
	}{
		"yes":                   {Case{Answer: "yes"}, result("yes", nil), true, nil},
		"wrong":                 {Case{Answer: "no"}, result("yes", nil), false, nil},
		"undecided is not no":   {Case{Answer: "no"}, result("indeterminate", nil), false, nil},
		"right count":           {Case{Answer: "yes", Count: new(2)}, result("yes", new(2)), true, nil},
		"wrong count":           {Case{Answer: "yes", Count: new(2)}, result("yes", new(1)), false, nil},
		"no count":              {Case{Answer: "yes", Count: new(2)}, result("yes", nil), false, nil},
		"count not asked for":   {Case{Answer: "yes"}, result("yes", new(1)), true, nil},
		"half the time":         {Case{Answer: "yes", Clips: [][2]float64{{0, 4}}}, result("yes", nil, [2]float64{2, 4}), true, iou(.5)},
		"elsewhere":             {Case{Answer: "yes", Clips: [][2]float64{{0, 4}}}, result("yes", nil, [2]float64{5, 6}), true, iou(0)},
		"no clips":              {Case{Answer: "yes", Clips: [][2]float64{{0, 4}}}, result("yes", nil), true, iou(0)},
		"clips of a no":         {Case{Answer: "no", Clips: [][2]float64{{0, 4}}}, result("no", nil), true, nil},
		"missed, so no overlap": {Case{Answer: "yes", Clips: [][2]float64{{0, 4}}}, result("no", nil), false, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judge(tt.truth, tt.got)
			require.Equal(t, tt.right, got.Right)
			require.Empty(t, cmp.Diff(tt.overlap, got.Overlap))
		})
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		a, b [][2]float64
		want float64
	}{
		"equal":            {[][2]float64{{0, 2}, {3, 9}}, [][2]float64{{0, 2}, {3, 9}}, 1},
		"a gap missed":     {[][2]float64{{0, 2}, {3, 5}}, [][2]float64{{0, 5}}, .8},
		"apart":            {[][2]float64{{0, 1}}, [][2]float64{{2, 3}}, 0},
		"touching":         {[][2]float64{{0, 1}}, [][2]float64{{1, 2}}, 0},
		"out of order":     {[][2]float64{{3, 5}, {0, 2}}, [][2]float64{{0, 2}, {3, 5}}, 1},
		"counted once":     {[][2]float64{{0, 4}, {1, 3}}, [][2]float64{{0, 4}}, 1},
		"nothing":          {nil, nil, 0},
		"an empty clip":    {[][2]float64{{1, 1}}, [][2]float64{{0, 4}}, 0},
		"one within other": {[][2]float64{{0, 10}}, [][2]float64{{4, 5}}, .1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, tt.want, overlap(tt.a, tt.b), 1e-9)
			require.InDelta(t, tt.want, overlap(tt.b, tt.a), 1e-9)
		})
	}
}

func TestOverlapIsAShare(t *testing.T) {
	t.Parallel()
	clips := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]float64 {
		from := rapid.Float64Range(0, 100).Draw(t, "from")
		return [2]float64{from, from + rapid.Float64Range(0, 20).Draw(t, "length")}
	}), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		a, b := clips.Draw(t, "a"), clips.Draw(t, "b")
		if iou := overlap(a, b); iou < 0 || iou > 1+1e-9 {
			t.Fatalf("overlap %f", iou)
		}
		if iou := overlap(a, a); length(merged(a)) > 0 && (iou < 1-1e-9 || iou > 1+1e-9) {
			t.Fatalf("overlap with itself %f", iou)
		}
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	half, whole := .5, 1.0
	outcomes := []Outcome{
		{Case: Case{File: "a.mp4", Form: "state", Question: "Is a tap open?", Answer: "yes"}, Got: "indeterminate", Reason: "unsupported_query_form"},
		{Case: Case{Form: "count", Answer: "yes", Count: new(2)}, Got: "yes", Confidence: .86, Right: true},
		{Case: Case{Form: "presence", Answer: "yes"}, Got: "yes", Confidence: .9, Right: true, Overlap: &half},
		{Case: Case{Form: "presence", Answer: "yes"}, Got: "yes", Confidence: 1, Right: true, Overlap: &whole},
		{Case: Case{File: "b.mp4", Form: "count", Question: "How many cups?", Answer: "yes", Count: new(3)}, Got: "yes", GotCount: new(1), Confidence: .8},
		{Case: Case{File: "c.mp4", Form: "presence", Question: "Is there a cat?", Answer: "yes"}, Failure: "inference_error: no frame"},
		{Case: Case{File: "d.mp4", Form: "absence", Question: "Is there a dog?", Answer: "no"}, Got: "no", Confidence: .9, Right: true},
		{Case: Case{File: "d.mp4", Form: "absence", Question: "Is there a cow?", Answer: "yes"}, Got: "no", Confidence: .95},
	}
	r := NewReport(outcomes)
	mean := .75
	require.Empty(t, cmp.Diff([]FormScore{
		{Form: "presence", Supported: true, Asked: 3, Right: 2, MeanOverlap: &mean},
		{Form: "absence", Supported: true, Asked: 2, Right: 1},
		{Form: "count", Supported: true, Asked: 2, Right: 1},
		{Form: "state", Asked: 1},
	}, r.Forms))
	require.Empty(t, cmp.Diff(FormScore{Form: "supported", Supported: true, Asked: 7, Right: 4, MeanOverlap: &mean}, r.Supported))
	require.Empty(t, cmp.Diff(FormScore{Form: "answered no", Asked: 2, Right: 1}, r.AnsweredNo))
	require.Empty(t, cmp.Diff(FormScore{Form: "later", Asked: 1}, r.Later))

	var out bytes.Buffer
	r.Print(terminal.NewScreen(&out))
	require.Empty(t, cmp.Diff(`
  FORM         RIGHT  OF  SHARE  OVERLAP
  presence         2   3    67%     0.75
  absence          1   2    50%        -
  count            1   2    50%        -
  supported        4   7    57%     0.75
  state            0   1     0%        -
  later            0   1     0%        -
  total            4   8    50%     0.75
  answered no      1   2    50%        -

  calibration error  0.235 over 6 answers; 2 undecided answers are not counted
  wrong above 0.9    1

  Missed
  FILE   QUESTION         TRUTH  ANSWERED
  b.mp4  How many cups?   yes 3  yes 1 (0.80)
  c.mp4  Is there a cat?  yes    inference_error: no frame
  d.mp4  Is there a cow?  yes    no (0.95)

  Later forms
  FILE   QUESTION        TRUTH  ANSWERED
  a.mp4  Is a tap open?  yes    indeterminate, unsupported_query_form
`, out.String()))

	bound := func(f float64) *float64 { return &f }
	require.NoError(t, r.Missed(Bounds{MinRightNo: bound(.5)}))
	require.ErrorContains(t, r.Missed(Bounds{MinRightNo: bound(.51)}), "share of right no answers 0.500 is below 0.510")
	require.ErrorContains(t, NewReport(outcomes[:2]).Missed(Bounds{MinRightNo: bound(.1)}), "could not be measured")
}

func TestReadTruth(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, err string }{
		"one":         {`[{"file":"a.mp4","form":"presence","question":"Is there a dog?","answer":"yes","count":null,"clips":[[0,2.5]]}]`, ""},
		"none":        {`[]`, "has no questions"},
		"malformed":   {`{`, "unexpected end"},
		"no answer":   {`[{"file":"a.mp4","question":"Is there a dog?"}]`, "entry 0 needs"},
		"file beyond": {`[{"file":"../a.mp4","question":"Is there a dog?","answer":"yes"}]`, "entry 0 needs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "truth.json"), []byte(tt.text), 0o600))
			got, err := ReadTruth(dir)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, [][2]float64{{0, 2.5}}, got[0].Clips)
		})
	}
	_, err := ReadTruth(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
