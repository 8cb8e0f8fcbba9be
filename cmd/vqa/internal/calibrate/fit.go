package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/optimize"

	"vqa/domain/answer"
)

// Ridge is how strongly a fitted number is held at its prior: the cost of a difference of 1, squared, in
// pairs of a class and a clip. Clips with clear objects choose no slopes, so these are held most.
type Ridge struct{ Constant, Score, Rivals, Kind float64 }

// ridges are tried from the weakest to the strongest.
var ridges = []Ridge{
	{Constant: .1, Score: 1, Rivals: 1, Kind: .3},
	{Constant: .3, Score: 3, Rivals: 3, Kind: 1},
	{Constant: 1, Score: 10, Rivals: 10, Kind: 3},
	{Constant: 3, Score: 30, Rivals: 30, Kind: 10},
	{Constant: 10, Score: 100, Rivals: 100, Kind: 30},
}

// place is where the fit finds a number of the parameters, and how strongly its prior holds it.
type place struct {
	at    func(*answer.Parameters) *float64
	ridge float64
}

func places(r Ridge) []place {
	return []place{
		{func(p *answer.Parameters) *float64 { return &p.Objects.Constant }, r.Constant},
		{func(p *answer.Parameters) *float64 { return &p.Objects.Score }, r.Score},
		{func(p *answer.Parameters) *float64 { return &p.Objects.Rivals }, r.Rivals},
		{func(p *answer.Parameters) *float64 { return &p.Kinds.Animal }, r.Kind},
		{func(p *answer.Parameters) *float64 { return &p.Kinds.Vehicle }, r.Kind},
		{func(p *answer.Parameters) *float64 { return &p.Kinds.Big }, r.Kind},
		{func(p *answer.Parameters) *float64 { return &p.Kinds.Small }, r.Kind},
		{func(p *answer.Parameters) *float64 { return &p.Persons.Constant }, r.Constant},
		{func(p *answer.Parameters) *float64 { return &p.Persons.Score }, r.Score},
		{func(p *answer.Parameters) *float64 { return &p.Persons.Rivals }, r.Rivals},
	}
}

// fit returns the parameters that make the examples most likely, near a prior.
func fit(all []example, prior answer.Parameters, r Ridge) (answer.Parameters, error) {
	numbers := places(r)
	from := make([]float64, len(numbers))
	with := func(x []float64) answer.Parameters {
		p := prior
		for i, n := range numbers {
			*n.at(&p) = x[i]
		}
		return p
	}
	for i, n := range numbers {
		from[i] = *n.at(&prior)
	}
	cost := func(x []float64) float64 {
		sum := logLoss(all, with(x))
		for i, n := range numbers {
			sum += n.ridge * (x[i] - from[i]) * (x[i] - from[i])
		}
		return sum
	}
	found, err := optimize.Minimize(optimize.Problem{
		Func: cost, Grad: func(grad, x []float64) { fd.Gradient(grad, cost, x, nil) },
	}, from, &optimize.Settings{MajorIterations: 200, GradientThreshold: 1e-4}, &optimize.BFGS{})
	if found == nil {
		return prior, fmt.Errorf("fit: %w", err)
	}
	// A line search that cannot improve further is an error, too, with the best place.
	for i, x := range found.X {
		found.X[i] = math.Round(1000*x) / 1000
	}
	return with(found.X), nil
}

// logLoss is the sum over the examples of weight * -ln(probability of what is true).
func logLoss(all []example, p answer.Parameters) float64 {
	sum := 0.0
	for _, e := range all {
		q := min(max(e.probability(p), .005), .995)
		if !e.present {
			q = 1 - q
		}
		sum -= e.weight * math.Log(q)
	}
	return sum
}

// probability that the class is present, by the best second: as a question whether it is visible gets it.
func (e example) probability(p answer.Parameters) float64 {
	l, kind := p.Objects, p.Kinds.Small
	switch e.kind {
	case answer.KindPerson:
		l, kind = p.Persons, 0
	case answer.KindAnimal:
		kind = p.Kinds.Animal
	case answer.KindVehicle:
		kind = p.Kinds.Vehicle
	case answer.KindBig:
		kind = p.Kinds.Big
	default: // small
	}
	best := p.Floor
	for _, second := range e.seconds {
		sum := 0.0
		for _, frame := range second {
			shown := p.Floor
			for _, o := range frame {
				shown = max(shown, o.share/(1+math.Exp(-(l.Constant+l.Score*o.logScore+l.Rivals*o.rivals+kind))))
			}
			sum += shown
		}
		best = max(best, sum/float64(len(second)))
	}
	return best
}

// balanced returns the examples without those of one clip, with weights. Those of a pair count together as one. People ask about what may well be
// there, so an absent class that nobody asked about counts by its best score. On 23 clips, 47% of these
// then score 0.15 or more, and 16% score 0.25. Of those that were asked about it is 62% and 34%. The
// present and the absent pairs of persons, and of other classes, count alike: half of what people ask for
// is absent.
func balanced(all []example, without string) []example {
	all = slices.DeleteFunc(slices.Clone(all), func(e example) bool { return e.clip == without })
	type pair struct {
		clip, class string
		present     bool
	}
	type side struct{ person, present bool }
	of := map[pair]float64{}
	for _, e := range all {
		of[pair{e.clip, e.class, e.present}]++
	}
	total, shown := map[side]float64{}, map[bool]float64{}
	for i, e := range all {
		all[i].weight = 1 / of[pair{e.clip, e.class, e.present}]
		if e.unasked && !e.present {
			all[i].weight *= e.best()
		}
		s := side{e.class == "person", e.present}
		total[s] += all[i].weight
		if e.present {
			shown[s.person] += all[i].weight
		}
	}
	for i, e := range all {
		person := e.class == "person"
		all[i].weight *= shown[person] / total[side{person, e.present}]
	}
	return all
}

// best is the mean score of the best second.
func (e example) best() float64 {
	best := 0.0
	for _, second := range e.seconds {
		sum := 0.0
		for _, frame := range second {
			if len(frame) > 0 {
				sum += math.Exp(frame[0].logScore)
			}
		}
		best = max(best, sum/float64(len(second)))
	}
	return best
}

// auc is the probability that a present example has a higher probability than an absent one.
func auc(all []example, probability func(example) float64) float64 {
	ranked := make([]struct{ p, present, absent float64 }, len(all))
	for i, e := range all {
		ranked[i].p = probability(e)
		if e.present {
			ranked[i].present = e.weight
		} else {
			ranked[i].absent = e.weight
		}
	}
	slices.SortFunc(ranked, func(a, b struct{ p, present, absent float64 }) int { return cmp.Compare(a.p, b.p) })
	below, higher, present := 0.0, 0.0, 0.0
	for i := 0; i < len(ranked); {
		same, here := 0.0, 0.0
		j := i
		for ; j < len(ranked) && ranked[j].p == ranked[i].p; j++ {
			same, here = same+ranked[j].absent, here+ranked[j].present
		}
		higher += here * (below + same/2)
		below, present, i = below+same, present+here, j
	}
	return higher / (below * present)
}
