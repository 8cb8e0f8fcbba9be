package query

import (
	"strings"

	"vqa/domain/query/vocabulary"
)

var countLeads = phrases(`how_many_of how_many how_much count_how_many count_up determine_the_number_of determine_how_many report_how_many estimate_how_many count_the_number_of count_number_of count_the_total_number_of count_all_of count_all count what_is_the_number_of
	what_is_the_total_number_of what_is_the_count_of the_number_of number_of total_number_of the_total_number_of no_of #_of
	the_count_of count_of what_number_of which_number_of what_quantity_of which_quantity_of what_is_the_most give_me_the_number_of give_me_the_count_of give_me_a_count_of give_the_number_of
	report_the_number_of provide_the_number_of state_the_number_of the_amount_of the_quantity_of amount_of quantity_of
	find_the_number_of calculate_the_number_of estimate_the_number_of what_is_the_quantity_of what_is_the_amount_of what_are_the_number_of
	what_is_the_maximum_number_of the_maximum_number_of maximum_number_of what_is_the_max_number_of the_max_number_of max_number_of
	what_is_the_largest_number_of the_largest_number_of what_is_the_highest_number_of the_highest_number_of`)

var timeLeads = phrases(`when at_what_time at_what_times at_what_point at_what_moment what_time at_which_time
	at_which_point at_which_moment at_which_times at_which_timestamp at_which_timestamps at_what_timestamp at_what_timestamps during_which_time
	show_me_when find_when list_when mark_when identify_when point_out_when
	at_what_second at_which_second at_what_minute in_what_part in_which_part in_which_parts around_what_time how_far_into_the_video how_far_in`)

// findVerbs, partNouns and partClauses make up "find all the parts where". The first ask
// for parts of the video, the second name the parts, and the third start their description.
var (
	findVerbs = phrases(`find find_me show show_me list return give give_me get get_me identify locate mark point_out highlight
		extract report tell_me what_is what_are`)
	partNouns = set(`moment moments part parts segment segments clip clips time times timestamp timestamps frame frames scene
		scenes section sections portion portions interval intervals point points`)
	partClauses = phrases(`where when with in_which during_which at_which that_show that_shows that_contain that_contains that_have
		that_has that_include that_includes showing containing`)
)

// timeLead is the length of the words that ask for times: "when", "find all the parts where",
// "timestamps of". It is 0 when there are none.
func timeLead(ts words) int {
	if n := timeLeads.match(ts, 0); n > 0 {
		return n
	}
	i := findVerbs.match(ts, 0)
	n, definite := partsAt(ts, i)
	if n == 0 || i == 0 && !definite {
		return 0
	}
	return i + n
}

// momentLead is the length of "is there a moment when", or 0. The question follows it.
func momentLead(ts words) int {
	i := 0
	for auxiliaries[ts.at(i)] {
		i++
	}
	if n, _ := partsAt(ts, i+1); n > 0 && i > 0 && ts.at(i) == "there" {
		return i + 1 + n
	}
	return 0
}

// partsAt is the length of "all the parts where" at i, or 0. definite is true when the words
// mean all such parts.
func partsAt(ts words, i int) (n int, definite bool) {
	j := i
	for universalWords[ts.at(j)] || determiners[ts.at(j)] {
		definite = definite || universalWords[ts.at(j)] || ts.at(j) == "the"
		j++
	}
	stretch := ts.at(j)
	if !partNouns[stretch] {
		return 0, false
	}
	definite = definite || strings.HasSuffix(stretch, "s")
	j++
	if n := partClauses.match(ts, j); n > 0 {
		return j + n - i, definite
	}
	switch w := ts.at(j); vocabulary.Singular(stretch) {
	case "timestamp":
		if w == "of" || w == "for" {
			return j + 1 - i, definite
		}
	case "moment", "time":
		if determiners[w] {
			// "every time a dog jumps"
			return j - i, definite
		}
	}
	return 0, false
}

// existenceLead is the length of the words that ask for presence: "is there", "does the video
// show", "can you see".
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
		if j+n < len(ts) && seeingVerbs[ts[j:j+n].text()] {
			return j + n
		}
	}
	return mediaLead(ts, i)
}

// mediaLead is the length of the words up to "the video contains", which start after i
// auxiliaries.
func mediaLead(ts words, i int) int {
	if w := ts.at(0); i == 0 && len(ts) > 1 && mediaVerbs[w] && strings.HasSuffix(w, "s") {
		// "Contains a zebra"
		return 1
	}
	j := i
	for determiners[ts.at(j)] && j < i+2 {
		j++
	}
	j += modifiers(ts, j)
	if !mediaNouns[ts.at(j)] {
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

var absencePhrases = phrases(`free_of free_from clear_of devoid_of without empty_of lacking lack lacks absent missing
	a_lack_of an_absence_of the_absence_of any_absence_of no_sign_of without_any absence_of`)

// negativeLead is the length of "is the video free of", "is there an absence of" or "is it
// without", or 0.
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
		if mediaNouns[ts.at(j)] || scenes[ts.at(j)] {
			j++
		} else if j > i {
			j = i
		}
	}
	for auxiliaries[ts.at(j)] {
		j++
	}
	if n := absencePhrases.match(ts, j); n > 0 && j+n < len(ts) {
		return j + n
	}
	return 0
}
