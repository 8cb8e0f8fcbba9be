package answer

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
)

// Logistic turns a raw score into log odds: Constant + Score * ln(score) + Rivals * r. r is the sum of
// the scores of other classes at the same place, divided by the score, at most 3.
type Logistic struct {
	Constant float64 `json:"constant"`
	Score    float64 `json:"score"`
	Rivals   float64 `json:"rivals"`
}

// Kinds are log odds that are added for the kind of a class. Persons have a [Logistic] of their own.
type Kinds struct {
	Animal  float64 `json:"animal"`
	Vehicle float64 `json:"vehicle"`
	// Big are furniture and large appliances, Small is every other class.
	Big   float64 `json:"big"`
	Small float64 `json:"small"`
}

// Parameters are all numbers of the answer rules that depend on a model. `vqa calibrate` fits them. A
// probability is that of a class that somebody asks about; half of these are absent.
type Parameters struct {
	// Weights is the name of the weights that the engine reports.
	Weights string `json:"weights"`
	// Keep is the raw score below which a detection is ignored.
	Keep float64 `json:"keep"`
	// Objects and Persons give the probability of one detection in one frame.
	Objects Logistic `json:"objects"`
	Persons Logistic `json:"persons"`
	Kinds   Kinds    `json:"kinds"`
	// RivalOverlap is the intersection over union from which a box of another class is a rival.
	RivalOverlap float64 `json:"rival_overlap"`
	// Exclusion lets classes that cannot share a place compete by their scores s and r:
	// p *= s^e / (s^e + sum of r^e). A dog that scores .2 as a cat is no cat. 0 turns it off.
	Exclusion float64 `json:"exclusion"`
	// Floor is the probability of an object without a detection.
	Floor float64 `json:"floor"`
	// Inside is the share of a box that must lie in a surer box before it counts as part of that object.
	Inside float64 `json:"inside"`
	// LinkOverlap and LinkDistance say when two boxes are one object: by intersection over union, or by
	// the distance of their centers in sizes of the object, times the seconds between them if over 1.
	LinkOverlap  float64 `json:"link_overlap"`
	LinkDistance float64 `json:"link_distance"`
	// GapS is the longest time without a detection within a track, in seconds.
	GapS float64 `json:"gap_s"`
	// SecondS is how long a statement must hold on average for a yes, in seconds.
	SecondS float64 `json:"second_s"`
	// Lift is the log odds that each frame gains once the answer is yes: given presence, a frame shows it
	// more likely than not. Stay is the log odds that a change between yes and no costs. Both find clips.
	Lift float64 `json:"lift"`
	Stay float64 `json:"stay"`
	// Yes is the probability from which the answer is yes. Between the two of Doubt it is indeterminate.
	Yes   float64    `json:"yes"`
	Doubt [2]float64 `json:"doubt"`
	// CapYes and CapNo bound the confidence of an answer. CapPrior bounds that of a no where only the
	// prior of people who ask speaks against a detection.
	CapYes   float64 `json:"cap_yes"`
	CapNo    float64 `json:"cap_no"`
	CapPrior float64 `json:"cap_prior"`
	// Quality is what the fit measured; nil when it was not measured.
	Quality *Quality `json:"quality,omitempty"`
}

// Quality is how well the probabilities tell present classes of labeled clips from absent ones. Each clip
// is judged by parameters that were fitted without it. Present and absent classes count alike.
type Quality struct {
	// Present and Absent count pairs of a class and a clip.
	Present int `json:"present"`
	Absent  int `json:"absent"`
	// LogLoss is the mean of -ln(probability of what is true).
	LogLoss float64 `json:"log_loss"`
	// AUC is the probability that a present class is more probable than an absent one.
	AUC float64 `json:"auc"`
	// Questions and Right count the questions about the clips and those that were answered rightly.
	Questions int `json:"questions"`
	Right     int `json:"right"`
	// CalibrationError is the expected calibration error of these answers, 0..1.
	CalibrationError float64 `json:"calibration_error"`
}

//go:embed calibration/*.json
var files embed.FS

var embedded = func() map[string]Parameters {
	out := map[string]Parameters{}
	entries, err := files.ReadDir("calibration")
	for _, e := range entries {
		raw, readErr := files.ReadFile(path.Join("calibration", e.Name()))
		p, parseErr := ParseParameters(raw)
		out[p.Weights], err = p, errors.Join(err, readErr, parseErr)
	}
	if err != nil {
		panic("answer: calibration: " + err.Error()) // a test of this package would have failed
	}
	return out
}()

// ParseCalibrations reads measured calibrations: one or more documents that `vqa calibrate` wrote, one
// after the other.
func ParseCalibrations(raw []byte) (Calibrations, error) {
	out := Calibrations{}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		var one json.RawMessage
		if err := d.Decode(&one); errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("calibrations: document %d: %w", len(out), err)
		}
		p, err := ParseParameters(one)
		if err != nil {
			return nil, fmt.Errorf("calibrations: document %d (%q): %w", len(out), p.Weights, err)
		}
		if _, twice := out[p.Weights]; twice {
			return nil, fmt.Errorf("calibrations: document %d: the weights %q are listed twice", len(out), p.Weights)
		}
		out[p.Weights] = Calibration{Parameters: p}
	}
}

// ParseParameters reads one document of `vqa calibrate`. Each field is required, and unknown fields are
// refused.
func ParseParameters(raw []byte) (Parameters, error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &given); err != nil {
		return Parameters{}, err
	}
	var p Parameters
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("remove the text after the document")
	}
	all, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(all, &names); err != nil {
		return p, err
	}
	for name := range names {
		if _, ok := given[name]; !ok {
			return p, fmt.Errorf("%s: required", name)
		}
	}
	return p, p.validate()
}

func (p Parameters) validate() error {
	if p.Weights == "" {
		return errors.New("weights: give the name that the server reports")
	}
	between := func(low, x, high float64) bool { return x >= low && x <= high }
	for _, rule := range []struct {
		ok   bool
		text string
	}{
		{p.Keep > 0 && p.Keep < 1, "keep: must be over 0 and under 1"},
		{p.Objects.Score > 0 && p.Persons.Score > 0, "objects.score, persons.score: must be over 0"},
		{between(.1, p.RivalOverlap, 1) && between(.1, p.Inside, 1), "rival_overlap, inside: must be from 0.1 to 1"},
		{between(0, p.Exclusion, 10), "exclusion: must be from 0 to 10"},
		{between(.001, p.Floor, .2), "floor: must be from 0.001 to 0.2"},
		{between(.01, p.LinkOverlap, 1) && between(.1, p.LinkDistance, 10), "link_overlap, link_distance: must be from 0.01 to 1 and from 0.1 to 10"},
		{between(.1, p.GapS, 10) && between(.1, p.SecondS, 10), "gap_s, second_s: must be from 0.1 to 10 seconds"},
		{between(0, p.Lift, 10) && between(0, p.Stay, 10), "lift, stay: must be from 0 to 10"},
		{between(.05, p.Doubt[0], p.Doubt[1]) && between(p.Doubt[0], p.Yes, .95) && p.Doubt[1] <= p.Yes, "doubt, yes: must satisfy 0.05 <= doubt[0] <= doubt[1] <= yes <= 0.95"},
		{p.Quality == nil || p.Quality.Present > 0 && p.Quality.Absent > 0 && p.Quality.LogLoss >= 0 && between(0, p.Quality.AUC, 1) && p.Quality.Right <= p.Quality.Questions, "quality: present and absent must be over 0, log_loss at least 0, auc from 0 to 1, right at most questions"},
		{between(.5, p.CapPrior, p.CapNo) && p.CapNo < 1 && between(.5, p.CapYes, .999), "cap_yes, cap_no, cap_prior: must be from 0.5 to below 1, cap_prior at most cap_no"},
	} {
		if !rule.ok {
			return errors.New(rule.text)
		}
	}
	return nil
}

func (l Logistic) logOdds(score, rivals float64) float64 {
	return l.Constant + l.Score*math.Log(score) + l.Rivals*rivals
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-min(max(x, -30), 30))) }

func logit(p float64) float64 {
	p = min(max(p, 1e-4), 1-1e-4)
	return math.Log(p / (1 - p))
}
