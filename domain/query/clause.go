package query

import (
	"slices"
	"strings"
)

var countLeads = phrases(`how_many_of how_many how_much count_how_many count_up determine_the_number_of determine_how_many report_how_many estimate_how_many count_the_number_of count_number_of count_the_total_number_of count_all_of count_all count what_is_the_number_of
	what_is_the_total_number_of what_is_the_count_of the_number_of number_of total_number_of the_total_number_of
	the_count_of count_of what_number_of give_me_the_number_of give_me_the_count_of give_me_a_count_of give_the_number_of
	report_the_number_of provide_the_number_of state_the_number_of the_amount_of the_quantity_of amount_of quantity_of
	find_the_number_of calculate_the_number_of estimate_the_number_of what_is_the_quantity_of what_is_the_amount_of what_are_the_number_of
	what_is_the_maximum_number_of the_maximum_number_of maximum_number_of what_is_the_max_number_of the_max_number_of max_number_of
	what_is_the_largest_number_of the_largest_number_of what_is_the_highest_number_of the_highest_number_of`)

var timeLeads = phrases(`when at_what_time at_what_times at_what_point at_what_moment what_time at_which_time
	at_which_point at_which_moment during_which_time find_the_moment find_the_moments find_the_moment_when
	find_the_moments_when find_the_part_where find_the_parts_where find_the_segments_where find_the_segment_where
	show_me_the_moment_when show_me_when show_me_the_part_where show_me_the_parts_where show_the_moments_when
	show_me_the_moments_when find_all_moments_when find_all_moments_where find_when find_the_moments_where
	find_the_times_when find_every_moment_when find_every_moment find_all_moments find_every_clip_with find_all_clips_with find_the_clips_with
	show_me_the_clips_with show_me_all_the_clips_with show_me_all_clips_with show_me_every_clip_with show_me_the_moments_with show_me_all_the_moments_when show_me_all_the_parts_where find_the_moments_with point_out_when tell_me_the_time_when give_me_the_timestamps_of give_me_the_timestamps_when give_me_the_timestamps_where list_the_timestamps_of list_the_times_when list_all_times_when list_the_moments_when show_me_all_moments_when show_me_every_moment_when timestamps_of timestamps_where timestamps_when list_when list_the_moments_with at_which_times at_which_timestamp at_which_timestamps
	what_is_the_timestamp_of what_are_the_timestamps_of timestamps_with timestamps_for moments_with moments_when moments_where times_when
	identify_when identify_the_moment_when locate_the_moment_when at_what_second at_which_second at_what_minute in_what_part around_what_time how_far_into_the_video how_far_in mark_when in_which_part in_which_parts at_what_timestamp at_what_timestamps`)

var openLeads = set(`why how what which who whom whose where describe explain summarize summarise list transcribe
	translate compare write name identify tell caption`)

var hearing = set("hear listen audible")

// clause reads a whole cleaned question; false when something is left over.
func (p *parser) clause(ts words) bool {
	if n := timeLeads.match(ts, 0); n > 0 {
		p.timed = true
		ts = ts[n:]
	} else if n := countLeads.match(ts, 0); n > 0 {
		return p.countClause(ts[n:])
	} else if last := len(ts) - 1; last > 0 && ts.at(last) == "count" && !auxiliaries[ts.at(0)] {
		// "people count"
		return p.countClause(ts[:last])
	}
	if len(ts) == 0 {
		return false
	}
	ts = p.unheard(ts)
	if openLeads[ts.at(0)] || slices.ContainsFunc(ts, func(t token) bool { return hearing[t.w] }) {
		p.diagnose(ts)
		return false
	}
	if free := negativeLead(ts); free > 0 {
		p.negated = true
		return p.existence(ts[free:])
	}
	if lead := existenceLead(ts); lead > 0 {
		return p.existence(ts[lead:])
	}
	if ts.at(0) == "not" || ts.at(0) == "never" {
		p.negated = true
		return p.clause(ts[1:])
	}
	if auxiliaries[ts.at(0)] {
		return p.auxiliary(ts)
	}
	return p.statement(ts)
}

// unheard cuts "and can you hear music" from the end of a question.
func (p *parser) unheard(ts words) words {
	at := slices.IndexFunc(ts, func(t token) bool { return hearing[t.w] })
	and := at - 1
	for auxiliaries[ts.at(and)] || ts.at(and) == "you" || ts.at(and) == "i" || ts.at(and) == "we" {
		and--
	}
	if and < 1 || ts.at(and) != "and" {
		return ts
	}
	p.obstacle(Audio, ts[and+1:].text())
	return ts[:and]
}

// diagnose names what makes an open question unassessable.
func (p *parser) diagnose(ts words) {
	for _, t := range ts {
		switch {
		case reading[t.w]:
			p.obstacle(Text, ts.text())
		case audio[t.w] || hearing[t.w]:
			p.obstacle(Audio, ts.text())
		case t.w == "who" || t.w == "whose" || t.w == "whom" || t.w == "name":
			p.obstacle(Identity, ts.text())
		default:
			continue
		}
		return
	}
}

// existenceLead is the length of the words that ask for presence: "is there", "does
// the video show", "can you see".
func existenceLead(ts words) int {
	i := 0
	for auxiliaries[ts.at(i)] || ts.at(i) == "n't" || i > 0 && ts.at(i) == "you" || (ts.at(0) == "you" || ts.at(0) == "we" || ts.at(0) == "i") && i == 0 {
		i++
	}
	if ts.at(i) == "there" {
		i++
		for auxiliaries[ts.at(i)] {
			i++
		}
		return i
	}
	j := i
	if ts.at(j) == "we" || ts.at(j) == "i" || ts.at(j) == "one" || ts.at(j) == "anyone" {
		j++
	}
	for _, n := range []int{2, 1} {
		if j+n < len(ts) && seeing[ts[j:j+n].text()] {
			return j + n
		}
	}
	return mediaLead(ts, i)
}

// mediaLead reads "the video contains" after i auxiliaries.
func mediaLead(ts words, i int) int {
	j := i
	for determiners[ts.at(j)] && j < i+2 {
		j++
	}
	j += modifiers(ts, j)
	if !media[ts.at(j)] {
		return 0
	}
	j++
	for auxiliaries[ts.at(j)] && !mediaVerbs[ts.at(j)] {
		j++
	}
	if mediaVerbs[ts.at(j)] && j+1 < len(ts) {
		return j + 1
	}
	return 0
}

var freeOf = phrases(`free_of free_from clear_of devoid_of without empty_of lacking lack lacks absent missing
	a_lack_of an_absence_of the_absence_of any_absence_of no_sign_of without_any absence_of`)

// negativeLead reads "is the video free of", "is there an absence of", "is it without".
func negativeLead(ts words) int {
	i := 0
	for auxiliaries[ts.at(i)] {
		i++
	}
	j := i
	if ts.at(j) == "there" {
		j++
	} else {
		for determiners[ts.at(j)] && j < i+2 {
			j++
		}
		if media[ts.at(j)] || settings[ts.at(j)] {
			j++
		} else if j > i {
			j = i
		}
	}
	for auxiliaries[ts.at(j)] {
		j++
	}
	if n := freeOf.match(ts, j); n > 0 && j+n < len(ts) {
		return j + n
	}
	return 0
}

// existence reads the noun phrases after "is there".
func (p *parser) existence(ts words) bool {
	p.exists = true
	first := len(p.subjects)
	if ts.at(0) == "not" || ts.at(0) == "n't" || ts.at(0) == "never" {
		p.negated = !p.negated
		ts = ts[1:]
	}
	i, ok := p.nouns(ts, 0, false)
	if !ok {
		return false
	}
	return p.listed(ts, i, first)
}

// listed reads what follows the subjects from first on, which are asked for: "a cup and a
// bowl on the table" are both on it.
func (p *parser) listed(ts words, i, first int) bool {
	before, last := len(p.conditions), len(p.subjects)-1
	if !p.tail(ts, i, last) {
		return false
	}
	p.spread(before, first, last, func(c Condition) bool { return c.Kind == KindLocation })
	return true
}

// spread gives the conditions from index before on, as far as they are on the subject
// last, to the subjects from first on as well.
func (p *parser) spread(before, first, last int, which func(Condition) bool) {
	for s := first; s < last; s++ {
		for _, c := range slices.Clone(p.conditions[before:]) {
			if c.Subject == p.subjects[last].ID && which(c) {
				p.condition(s, c.Kind, c.Value, c.Negated)
			}
		}
	}
}

// auxiliary reads "is the dog running", "does a dog appear", "is this a dog".
func (p *parser) auxiliary(ts words) bool {
	helper := helpers[ts.at(0)]
	i := 0
	for auxiliaries[ts.at(i)] {
		i++
	}
	if ts.at(i) == "n't" {
		// "isn't there a dog" asks whether there is one.
		i++
	}
	if ts.at(i) == "not" {
		p.negated = !p.negated
		i++
	}
	if isPointer(ts.at(i)) && i+1 < len(ts) && (determiners[ts.at(i+1)] || ts[i+1].name || number(ts.at(i+1)) >= 0) {
		return p.existence(ts[i+1:])
	}
	if isPointer(ts.at(i)) && ts.at(i+1) == "be" && determiners[ts.at(i+2)] {
		// "could that be a bus"
		return p.existence(ts[i+2:])
	}
	if n := numberOf.match(ts, i); n > 0 {
		return p.numberClause(ts, i+n)
	}
	first := len(p.subjects)
	j, ok := p.nouns(ts, i, helper)
	if act := opening[ts.at(j)]; ok && helper && act != "" {
		// "Does the door open" asks for a movement, "is the door open" for a state.
		ts = slices.Clone(ts)
		ts[j].w = act
	}
	if ok && !helper && j == len(ts) && slices.ContainsFunc(p.subjects[first:], swallows) {
		return false
	}
	return ok && p.predicate(ts, j, first)
}

// swallows reports whether a term ends in a word that may as well say how something is:
// "is the dog hungry" asks for no "dog hungry".
func swallows(s Subject) bool {
	i := strings.LastIndexByte(s.Term, ' ')
	return i > 0 && knownNouns[s.Term[:i]] && !knownNouns[s.Term] && !knownNouns[s.Term[i+1:]]
}

var opening = map[string]string{"open": "opening", "close": "closing", "shut": "closing"}

func isPointer(w string) bool {
	return w == "this" || w == "that" || w == "it" || w == "these" || w == "those" || w == "they"
}

// predicate reads what follows a definite subject; it holds for all its nouns.
func (p *parser) predicate(ts words, i, first int) bool {
	if i >= len(ts) {
		// "is a dog [visible]": presence itself is asked.
		p.exists = true
		return true
	}
	before := len(p.conditions)
	subjects := len(p.subjects)
	if !p.tail(ts, i, subjects-1) {
		return false
	}
	if len(p.conditions) == before && len(p.obstacles) == 0 {
		p.exists = true
	}
	p.spread(before, first, subjects-1, func(Condition) bool { return true })
	return true
}

// statement reads "a dog is running", "the dog appears", "dogs?".
func (p *parser) statement(ts words) bool {
	p.bare = true
	first := len(p.subjects)
	i, ok := p.nouns(ts, 0, true)
	if !ok {
		return false
	}
	if auxiliaries[ts.at(i)] {
		p.bare = false
		for auxiliaries[ts.at(i)] {
			i++
		}
		if ts.at(i) == "n't" {
			p.negated = !p.negated
			i++
		}
		return p.predicate(ts, i, first)
	}
	p.exists = true
	return p.listed(ts, i, first)
}

var numberOf = phrases("the_number_of number_of the_total_number_of the_count_of")

// numberClause reads "is the number of people greater than 3".
func (p *parser) numberClause(ts words, i int) bool {
	i, ok := p.nouns(ts, i, false)
	if !ok || len(p.subjects) != 1 {
		return false
	}
	if ts.at(i) == "exceed" || ts.at(i) == "exceeds" {
		if v := number(ts.at(i + 1)); v >= 0 && i+2 == len(ts) {
			p.subjects[0].Quantity = &Quantity{Op: MoreThan, Value: v}
			return true
		}
		return false
	}
	quantity, n := quantityAt(ts, i)
	if quantity == nil || i+n != len(ts) {
		return false
	}
	p.subjects[0].Quantity = quantity
	return true
}

var countFillers = set(`are is was were there do does did you we i can could be see spot have has had been being exist
	will in_total total overall the_video it they show contain will me us to detect find count on_it`)

// countClause reads what follows "how many".
func (p *parser) countClause(ts words) bool {
	if ts.at(0) == "times" || ts.at(0) == "seconds" || ts.at(0) == "minutes" {
		return false
	}
	p.counting, p.exists = true, true
	i, ok := p.nouns(ts, 0, true)
	if !ok {
		return false
	}
	for {
		if n := mediaPhraseBare(ts, i); n > 0 {
			i += n
			continue
		}
		if n := mediaPhraseBare(ts, i+1); n > 0 && ts.at(i) == "throughout" {
			p.obstacle(ExhaustiveCount, ts[i:i+1+n].text())
			i += 1 + n
			continue
		}
		if !countFillers[ts.at(i)] {
			break
		}
		i++
	}
	if i < len(ts) && mediaVerbs[ts.at(i)] {
		i++
	}
	if !p.tail(ts, i, len(p.subjects)-1) {
		return false
	}
	if len(p.subjects) > 1 {
		// "How many cats and dogs": the sum of two subjects has no form.
		return false
	}
	// A number in "how many of the three dogs" is not asked for.
	for s := range p.subjects {
		p.subjects[s].Quantity = nil
	}
	return !p.negated
}

// mediaPhraseBare is the length of "the video" at i, 0 when there is none.
func mediaPhraseBare(ts words, i int) int {
	j := i
	for determiners[ts.at(j)] && j < i+2 {
		j++
	}
	defined := j > i
	if j += modifiers(ts, j); defined && media[ts.at(j)] {
		return j + 1 - i
	}
	return 0
}
