package evaluate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"vqa/cmd/vqa/internal/client"
)

// Case is one entry of truth.json: a question about a clip, and the true answer.
type Case struct {
	File     string `json:"file"`
	Form     string `json:"form"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	// Count is nil when the question has none.
	Count *int `json:"count"`
	// Clips are the true intervals in seconds; nil when they are not compared.
	Clips [][2]float64 `json:"clips"`
	Note  string       `json:"note,omitempty"`
}

// Outcome is the service's answer to a question, compared with the truth.
type Outcome struct {
	Case
	Got      string `json:"got"`
	GotCount *int   `json:"got_count"`
	// Confidence and Reason come from the result.
	Confidence float64      `json:"confidence"`
	Reason     string       `json:"reason,omitempty"`
	GotClips   [][2]float64 `json:"got_clips,omitempty"`
	// Failure is the error when there is no result.
	Failure string `json:"failure,omitempty"`
	Right   bool   `json:"right"`
	// Overlap is the intersection over union of the clips in time, 0 to 1; nil when there is nothing
	// to compare.
	Overlap *float64 `json:"overlap"`
}

// FormScore counts the right answers to the questions of one form.
type FormScore struct {
	Form string `json:"form"`
	// Supported is true when the service answers this form.
	Supported bool `json:"supported"`
	Asked     int  `json:"asked"`
	Right     int  `json:"right"`
	// MeanOverlap is the mean over the outcomes with an overlap; nil when there are none.
	MeanOverlap *float64 `json:"mean_overlap"`
}

// share is the share of right answers, 0 to 1; 0 without questions.
func (s FormScore) share() float64 {
	if s.Asked == 0 {
		return 0
	}
	return float64(s.Right) / float64(s.Asked)
}

// supportedForms are the forms of truth.json that the service answers, in the order of the report.
var supportedForms = []string{
	"presence", "absence", "count", "threshold", "compound", "location", "attribute", "action", "segment",
}

// ReadTruth reads the questions of a folder of clips.
func ReadTruth(dir string) ([]Case, error) {
	path := filepath.Join(dir, "truth.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Case
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no questions", path)
	}
	for i, q := range all {
		if q.File == "" || q.Question == "" || q.Answer == "" || !filepath.IsLocal(q.File) {
			return nil, fmt.Errorf("%s: entry %d needs a file in this folder, a question and an answer", path, i)
		}
	}
	return all, nil
}

// Clips are the files that the questions are about, in their order.
func Clips(questions []Case) []string {
	var files []string
	for _, q := range questions {
		if !slices.Contains(files, q.File) {
			files = append(files, q.File)
		}
	}
	return files
}

// judge compares a result with the truth.
func judge(q Case, r *client.Result) Outcome {
	o := Outcome{Case: q, Got: r.Answer, GotCount: r.DetectedCount, Confidence: r.Confidence}
	if r.IndeterminateReason != nil {
		o.Reason = *r.IndeterminateReason
	}
	for _, c := range r.Clips {
		o.GotClips = append(o.GotClips, [2]float64{c.StartS, c.EndS})
	}
	o.Right = r.Answer == q.Answer && (q.Count == nil || r.DetectedCount != nil && *r.DetectedCount == *q.Count)
	if len(q.Clips) > 0 && r.Answer == "yes" && q.Answer == "yes" {
		iou := overlap(q.Clips, o.GotClips)
		o.Overlap = &iou
	}
	return o
}

// overlap is the intersection over union of two sets of intervals, 0 to 1.
func overlap(a, b [][2]float64) float64 {
	a, b = merged(a), merged(b)
	both := 0.0
	for _, x := range a {
		for _, y := range b {
			both += max(0, min(x[1], y[1])-max(x[0], y[0]))
		}
	}
	either := length(a) + length(b) - both
	if either <= 0 {
		return 0
	}
	return both / either
}

// merged sorts intervals, joins those that overlap, and drops empty ones.
func merged(in [][2]float64) [][2]float64 {
	in = slices.Clone(in)
	slices.SortFunc(in, func(x, y [2]float64) int { return slices.Compare(x[:], y[:]) })
	var out [][2]float64
	for _, x := range in {
		switch last := len(out) - 1; {
		case x[1] <= x[0]:
		case last >= 0 && x[0] <= out[last][1]:
			out[last][1] = max(out[last][1], x[1])
		default:
			out = append(out, x)
		}
	}
	return out
}

func length(in [][2]float64) float64 {
	sum := 0.0
	for _, x := range in {
		sum += x[1] - x[0]
	}
	return sum
}

// score counts by form: the supported forms first, then the others in the order of the questions.
func score(outcomes []Outcome) []FormScore {
	forms := slices.Clone(supportedForms)
	for _, o := range outcomes {
		if !slices.Contains(forms, o.Form) {
			forms = append(forms, o.Form)
		}
	}
	var out []FormScore
	for i, form := range forms {
		s := tally(form, outcomes, func(o Outcome) bool { return o.Form == form })
		if s.Supported = i < len(supportedForms); s.Asked > 0 {
			out = append(out, s)
		}
	}
	return out
}

// tally counts the outcomes for which belongs is true.
func tally(name string, outcomes []Outcome, belongs func(Outcome) bool) FormScore {
	s := FormScore{Form: name}
	sum, n := 0.0, 0
	for _, o := range outcomes {
		if !belongs(o) {
			continue
		}
		s.Asked++
		if o.Right {
			s.Right++
		}
		if o.Overlap != nil {
			sum, n = sum+*o.Overlap, n+1
		}
	}
	if n > 0 {
		mean := sum / float64(n)
		s.MeanOverlap = &mean
	}
	return s
}
