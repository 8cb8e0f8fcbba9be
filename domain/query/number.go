package query

import (
	"strconv"
	"strings"
)

// number is the value of a number word, or of digits up to the largest quantity. It is -1 for
// anything else.
func number(w string) int {
	if n, ok := numbers[w]; ok {
		return n
	}
	if w == "" || w[0] < '0' || w[0] > '9' {
		return -1
	}
	n, err := strconv.Atoi(strings.ReplaceAll(w, ",", ""))
	if err != nil || n > maxQuantity {
		return -1
	}
	return n
}

// numberAt reads a number of several words: "twenty one", "two hundred and five", "half a
// dozen". n is 0 when there is none.
func numberAt(ts words, i int) (value, n int) {
	if ts.at(i) == "half" && ts.at(i+1) == "a" && ts.at(i+2) == "dozen" {
		return 6, 3
	}
	value = number(ts.at(i))
	if value < 0 {
		return 0, 0
	}
	j := i + 1
	for {
		next := number(ts.at(j))
		_, word := numbers[ts.at(j)]
		switch w := ts.at(j); {
		case w == "dozen" && value > 0, w == "hundred" && value > 0 && value < 100, w == "thousand" && value > 0 && value < 1000:
			value *= next
			j++
		case word && next > 0 && next < 10 && value >= 20 && value < 100 && value%10 == 0 && w != "single",
			word && next > 0 && next < 100 && value >= 100 && value%100 == 0 && w != "single" && w != "dozen":
			value += next
			j++
		case w == "and" && value >= 100 && value%100 == 0 && isBelow100(ts.at(j+1)):
			j++
		default:
			if value > maxQuantity {
				return 0, 0
			}
			return value, j - i
		}
	}
}

func isBelow100(w string) bool {
	n, word := numbers[w]
	return word && n > 0 && n < 100
}

// numberRangeAt reads "between two and four", "2 to 4" and "two or three". n is 0 when there is
// none.
func numberRangeAt(ts words, i int) (low, high, n int) {
	j, joiner := i, ""
	switch ts.at(i) {
	case "between":
		j, joiner = i+1, "and"
	case "from":
		j, joiner = i+1, "to"
	}
	low, n = numberAt(ts, j)
	if n == 0 {
		return 0, 0, 0
	}
	j += n
	if w := ts.at(j); w != joiner && (joiner != "" || w != "to" && w != "or") {
		return 0, 0, 0
	}
	high, n = numberAt(ts, j+1)
	if n == 0 || low >= high || low == 0 || ts.at(j) == "or" && high != low+1 {
		return 0, 0, 0
	}
	return low, high, j + 1 + n - i
}
