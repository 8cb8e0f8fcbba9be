package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"vqa/domain/query"
)

// Calibrations are those that were measured, by the name of the weights (gpu.Info,
// Weights). That of the embedded model need not be among them.
type Calibrations map[string]Calibration

// For returns the calibration of a model: that measured of its weights, else
// [Unmeasured]. classes are what the model says it knows; with none it is open.
func (m Calibrations) For(weights string, classes []string) Calibration {
	cal, measured := m[weights]
	switch {
	case measured:
	case weights == CPUWeights:
		cal = CPU()
	default:
		cal = Unmeasured()
	}
	if cal.Vocabulary = query.VocabularyOf(classes); cal.Vocabulary.Open() {
		// Free terms need not exclude each other: a woman is a person too.
		cal.Outvote, cal.Spread = math.Inf(1), math.Inf(1)
	}
	return cal
}

// Unmeasured is the calibration of a model of which nothing is known but that its scores
// rise with what they are worth. So no answer is surer than .69, yes or no: what is reliable
// begins at .7 (result rule 9). A model that scores low sees nothing with it, and needs a
// measurement ([ParseCalibrations]).
func Unmeasured() Calibration {
	cal := CPU()
	cal.Vocabulary = query.Vocabulary{}
	cal.Threshold, cal.Faint, cal.Keep, cal.Further, cal.Alike = .30, .30, .25, .05, .05
	cal.Flash, cal.Absence = .35, nil // the bands of CPU were measured on its own scores
	cal.Curve = []Point{{0, .31}, {.15, .38}, {.30, .50}, {.50, .58}, {.80, .66}, {1, .69}}
	return cal
}

// measurement is a calibration as a file holds it.
type measurement struct {
	Weights string `json:"weights"`
	// Curve holds points of a score and what it is worth.
	Curve     [][2]float64 `json:"curve"`
	Threshold *float64     `json:"threshold"`
	Keep      *float64     `json:"keep"`
	Further   *float64     `json:"further"`
	Flash     *float64     `json:"flash"`
	Peak      *float64     `json:"peak"`
}

// ParseCalibrations reads measured calibrations, a JSON list of objects:
//
//	weights    what the server calls them
//	curve      [[score, probability], …], from score 0 to score 1, both rising; every
//	           probability over 0 and under 1
//	threshold  keep, flash, peak: scores with 0 < keep <= threshold <= flash <= peak <= 1
//	further    0 or more, less than 1
//
// They are the fields of [Calibration], which says what they mean; each is required, and
// no other is known. The rules about places are those of [CPU]. To measure: show the model
// labelled pictures, none of them from what it is judged by; take its best score for each
// pair of a picture and a class; the share of the class being there, among the pairs with
// scores around a point, is the point's probability. threshold is the score worth .5.
func ParseCalibrations(raw []byte) (Calibrations, error) {
	var all []measurement
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("calibrations: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("calibrations: something follows the list")
	}
	out := Calibrations{}
	for i, m := range all {
		cal, err := m.calibration()
		if err != nil {
			return nil, fmt.Errorf("calibrations: %d (%q): %w", i, m.Weights, err)
		}
		if _, twice := out[m.Weights]; twice {
			return nil, fmt.Errorf("calibrations: %d: %q is there twice", i, m.Weights)
		}
		out[m.Weights] = cal
	}
	return out, nil
}

func (m measurement) calibration() (Calibration, error) {
	cal := CPU()
	cal.Curve, cal.Absence = nil, nil
	if m.Weights == "" {
		return cal, fmt.Errorf("weights: must not be empty")
	}
	for _, field := range []struct {
		name     string
		from, to *float64
	}{
		{"threshold", m.Threshold, &cal.Threshold}, {"keep", m.Keep, &cal.Keep}, {"further", m.Further, &cal.Further},
		{"flash", m.Flash, &cal.Flash}, {"peak", m.Peak, &cal.Peak},
	} {
		if field.from == nil {
			return cal, fmt.Errorf("%s: is missing", field.name)
		}
		*field.to = *field.from
	}
	cal.Faint, cal.Alike = cal.Threshold, cal.Further
	if !(0 < cal.Keep && cal.Keep <= cal.Threshold && cal.Threshold <= cal.Flash && cal.Flash <= cal.Peak && cal.Peak <= 1) {
		return cal, fmt.Errorf("threshold: want 0 < keep <= threshold <= flash <= peak <= 1")
	}
	if cal.Further < 0 || cal.Further >= 1 {
		return cal, fmt.Errorf("further: want 0 or more, less than 1")
	}
	for i, p := range m.Curve {
		point := Point{Score: p[0], Probability: p[1]}
		if point.Probability <= 0 || point.Probability >= 1 {
			return cal, fmt.Errorf("curve: point %d: a probability over 0 and under 1 is wanted", i)
		}
		if i > 0 && (point.Score <= cal.Curve[i-1].Score || point.Probability <= cal.Curve[i-1].Probability) {
			return cal, fmt.Errorf("curve: point %d does not rise", i)
		}
		cal.Curve = append(cal.Curve, point)
	}
	if n := len(cal.Curve); n < 2 || cal.Curve[0].Score != 0 || cal.Curve[n-1].Score != 1 {
		return cal, fmt.Errorf("curve: must reach from score 0 to score 1")
	}
	return cal, nil
}
