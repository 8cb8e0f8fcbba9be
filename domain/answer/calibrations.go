package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"vqa/domain/query/vocabulary"
)

// Calibrations are measured calibrations, by the name of the weights (gpu.Info, Weights).
// That of the embedded model may be missing.
type Calibrations map[string]Calibration

// For returns the calibration of a model. Without a measured one for its weights it is
// [Unmeasured]. classes are the classes that the model reports; a model without any is open
// and takes every term.
func (m Calibrations) For(weights string, classes []string) Calibration {
	cal, measured := m[weights]
	switch {
	case measured:
	case weights == CPUWeights:
		cal = CPU()
	default:
		cal = Unmeasured()
	}
	if cal.Vocabulary = vocabulary.Of(classes); cal.Vocabulary.Open() {
		// Free terms need not exclude each other: a woman is a person too.
		cal.Outvote, cal.Spread = math.Inf(1), math.Inf(1)
	}
	return cal
}

// Unmeasured is the calibration of a model that was not measured. It assumes only that
// higher scores are better. So no answer is surer than .69, because .7 counts as reliable
// (docs/contract.md#result-9). A model with low scores finds nothing with it and needs a
// measurement ([ParseCalibrations]).
func Unmeasured() Calibration {
	cal := CPU()
	cal.Vocabulary = vocabulary.Vocabulary{}
	cal.Threshold, cal.Faint, cal.Keep, cal.Further, cal.Alike = .30, .30, .25, .05, .05
	cal.Flash, cal.Absence = .35, nil // the bands of CPU were measured on its own scores
	cal.Curve = []Point{{0, .31}, {.15, .38}, {.30, .50}, {.50, .58}, {.80, .66}, {1, .69}}
	return cal
}

// measurement is a calibration in a file.
type measurement struct {
	Weights string `json:"weights"`
	// Curve holds pairs of a score and its probability.
	Curve     [][2]float64 `json:"curve"`
	Threshold *float64     `json:"threshold"`
	Keep      *float64     `json:"keep"`
	Further   *float64     `json:"further"`
	Flash     *float64     `json:"flash"`
	Peak      *float64     `json:"peak"`
}

// ParseCalibrations reads measured calibrations, a JSON list of objects:
//
//	weights    the name of the weights that the server reports
//	curve      [[score, probability], …], from score 0 to score 1, both rising; every
//	           probability over 0 and under 1
//	threshold  keep, flash, peak: scores with 0 < keep <= threshold <= flash <= peak <= 1
//	further    0 or more, less than 1
//
// The fields are those of [Calibration]. Each is required, and unknown fields are refused.
// The rules about places are those of [CPU].
//
// To measure, show the model labeled pictures that are not used for its evaluation. Take
// its best score for each pair of a picture and a class. The probability of a point is the
// share of pairs with scores around it in which the class is present. threshold is the
// score with a probability of .5.
func ParseCalibrations(raw []byte) (Calibrations, error) {
	var all []measurement
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("calibrations: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("calibrations: remove the text after the list")
	}
	out := Calibrations{}
	for i, m := range all {
		cal, err := m.calibration()
		if err != nil {
			return nil, fmt.Errorf("calibrations: item %d (%q): %w", i, m.Weights, err)
		}
		if _, twice := out[m.Weights]; twice {
			return nil, fmt.Errorf("calibrations: item %d: the weights %q are listed twice", i, m.Weights)
		}
		out[m.Weights] = cal
	}
	return out, nil
}

func (m measurement) calibration() (Calibration, error) {
	cal := CPU()
	cal.Curve, cal.Absence = nil, nil
	if m.Weights == "" {
		return cal, fmt.Errorf("weights: give the name that the server reports")
	}
	for _, field := range []struct {
		name     string
		from, to *float64
	}{
		{"threshold", m.Threshold, &cal.Threshold}, {"keep", m.Keep, &cal.Keep}, {"further", m.Further, &cal.Further},
		{"flash", m.Flash, &cal.Flash}, {"peak", m.Peak, &cal.Peak},
	} {
		if field.from == nil {
			return cal, fmt.Errorf("%s: required", field.name)
		}
		*field.to = *field.from
	}
	cal.Faint, cal.Alike = cal.Threshold, cal.Further
	if !(0 < cal.Keep && cal.Keep <= cal.Threshold && cal.Threshold <= cal.Flash && cal.Flash <= cal.Peak && cal.Peak <= 1) {
		return cal, fmt.Errorf("threshold: must satisfy 0 < keep <= threshold <= flash <= peak <= 1")
	}
	if cal.Further < 0 || cal.Further >= 1 {
		return cal, fmt.Errorf("further: must be at least 0 and less than 1")
	}
	for i, p := range m.Curve {
		point := Point{Score: p[0], Probability: p[1]}
		if point.Probability <= 0 || point.Probability >= 1 {
			return cal, fmt.Errorf("curve: point %d: the probability must be over 0 and under 1", i)
		}
		if i > 0 && (point.Score <= cal.Curve[i-1].Score || point.Probability <= cal.Curve[i-1].Probability) {
			return cal, fmt.Errorf("curve: point %d: score and probability must be over those of the point before", i)
		}
		cal.Curve = append(cal.Curve, point)
	}
	if n := len(cal.Curve); n < 2 || cal.Curve[0].Score != 0 || cal.Curve[n-1].Score != 1 {
		return cal, fmt.Errorf("curve: must reach from score 0 to score 1")
	}
	return cal, nil
}
