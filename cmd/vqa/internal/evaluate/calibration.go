package evaluate

import "math"

// Reliability compares the confidence of answers with the share of them that is right.
type Reliability struct {
	// ECE is the expected calibration error, 0 to 1. It is the difference between the mean
	// confidence and the share of right answers of a bin, averaged over the answers. It is nil
	// without an answer.
	ECE *float64 `json:"ece"`
	// Answered counts the answers yes and no. Undecided counts indeterminate results and failures:
	// they are not right, but they have no confidence to compare (docs/contract.md#result-1).
	Answered  int `json:"answered"`
	Undecided int `json:"undecided"`
	// Bins are ten intervals of confidence of equal width, empty ones included.
	Bins []Bin `json:"bins"`
}

// Bin counts the answers with a confidence in [From, To). The last bin includes 1.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
	Right int     `json:"right"`
	// MeanConfidence is 0 in an empty bin.
	MeanConfidence float64 `json:"mean_confidence"`
}

// shareRight is the share of right answers, 0 to 1; 0 in an empty bin.
func (b Bin) shareRight() float64 {
	if b.Count == 0 {
		return 0
	}
	return float64(b.Right) / float64(b.Count)
}

// interval contains the true share with a probability of 95% (Wilson's score interval). It is wide
// for a few answers.
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

// reliabilityOf sorts the outcomes into bins and computes the calibration error.
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
		b.MeanConfidence += o.Confidence // a sum, divided below
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
