package evaluate

import "math"

// Reliability says how far the confidence of answers can be believed.
type Reliability struct {
	// ECE is the expected calibration error: the distance between the mean confidence of
	// a bin and the share of its answers that are right, averaged over the answers, 0..1.
	// Nil without an answer.
	ECE *float64 `json:"ece"`
	// Answered are the questions that were answered yes or no. An indeterminate result
	// claims nothing (its confidence is 0 by rule 1) and a failure even less: they are
	// not right, but have no confidence that could be.
	Answered  int `json:"answered"`
	Undecided int `json:"undecided"`
	// Bins are ten of equal width, also empty ones.
	Bins []Bin `json:"bins"`
}

// Bin sums up the answers whose confidence lies in [From, To), the last one
// including 1.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
	Right int     `json:"right"`
	// MeanConfidence is 0 in an empty bin.
	MeanConfidence float64 `json:"mean_confidence"`
}

// shareRight is 0..1, 0 in an empty bin.
func (b Bin) shareRight() float64 {
	if b.Count == 0 {
		return 0
	}
	return float64(b.Right) / float64(b.Count)
}

// interval holds the true share with a probability of 95% (Wilson's score interval): few
// answers tell little.
func (b Bin) interval() (low, high float64) {
	const z = 1.96
	n, p := float64(b.Count), b.shareRight()
	if n == 0 {
		return 0, 1
	}
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n)) / (1 + z*z/n)
	return max(0, middle-half), min(1, middle+half)
}

const binCount = 10

// reliabilityOf compares confidence and truth.
func reliabilityOf(outcomes []Outcome) Reliability {
	r := Reliability{Bins: make([]Bin, binCount)}
	for i := range r.Bins {
		r.Bins[i].From, r.Bins[i].To = float64(i)/binCount, float64(i+1)/binCount
	}
	for _, o := range outcomes {
		if o.Got != "yes" && o.Got != "no" {
			r.Undecided++
			continue
		}
		r.Answered++
		b := &r.Bins[min(max(int(o.Confidence*binCount), 0), binCount-1)]
		b.Count++
		b.MeanConfidence += o.Confidence // the sum, until all are in
		if o.Right {
			b.Right++
		}
	}
	if r.Answered == 0 {
		return r
	}
	ece := 0.0
	for i := range r.Bins {
		if b := &r.Bins[i]; b.Count > 0 {
			b.MeanConfidence /= float64(b.Count)
			ece += math.Abs(b.MeanConfidence-b.shareRight()) * float64(b.Count) / float64(r.Answered)
		}
	}
	r.ECE = &ece
	return r
}
