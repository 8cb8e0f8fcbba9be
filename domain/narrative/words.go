package narrative

import (
	"strconv"
	"strings"
)

// noun is the singular and plural name of a class.
type noun struct{ one, many string }

// maxName bounds the length of the name of a class, in bytes.
const maxName = 40

// irregularNouns are classes of known models whose name or plural does not follow the rules.
var irregularNouns = map[string]noun{
	"person":         {"person", "people"},
	"sports ball":    {"ball", "balls"},
	"mouse":          {"computer mouse", "computer mice"},
	"knife":          {"knife", "knives"},
	"sheep":          {"sheep", "sheep"},
	"tv":             {"TV", "TVs"},
	"scissors":       {"pair of scissors", "pairs of scissors"},
	"skis":           {"pair of skis", "pairs of skis"},
	"broccoli":       {"piece of broccoli", "pieces of broccoli"},
	"baseball glove": {"baseball glove", "baseball gloves"},
	"remote":         {"remote control", "remote controls"},
	"man":            {"man", "men"},
	"woman":          {"woman", "women"},
	"child":          {"child", "children"},
	"fish":           {"fish", "fish"},
	"deer":           {"deer", "deer"},
	"goose":          {"goose", "geese"},
	"leaf":           {"leaf", "leaves"},
	"shelf":          {"shelf", "shelves"},
}

// nounOf names a class. A class whose name is not plain text is called an object.
func nounOf(class string) noun {
	class = strings.ToLower(strings.TrimSpace(class))
	if n, ok := irregularNouns[class]; ok {
		return n
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == ' ' || r == '-' || r == '\''
	}
	if class == "" || len(class) > maxName || strings.ContainsFunc(class, func(r rune) bool { return !plain(r) }) {
		return noun{"object", "objects"}
	}
	return noun{class, plural(class)}
}

// plural is the regular plural of a word.
func plural(word string) string {
	ends := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(word, s) {
				return true
			}
		}
		return false
	}
	switch {
	case ends("s", "x", "z", "ch", "sh"):
		return word + "es"
	case ends("man"):
		return strings.TrimSuffix(word, "man") + "men"
	case ends("y") && !ends("ay", "ey", "oy", "uy"):
		return strings.TrimSuffix(word, "y") + "ies"
	}
	return word + "s"
}

// withArticle puts "a" or "an" before a word, by its sound as far as the spelling shows it.
func withArticle(word string) string {
	for _, silent := range []string{"hour", "honest", "heir", "honour"} {
		if strings.HasPrefix(word, silent) {
			return "an " + word
		}
	}
	for _, glide := range []string{"uni", "use", "uten", "eu", "one"} {
		if strings.HasPrefix(word, glide) && !strings.HasPrefix(word, "unin") {
			return "a " + word
		}
	}
	if strings.ContainsRune("aeiou8", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

var numbers = [...]string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

var ordinals = [...]string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

func number(n int) string {
	if n < len(numbers) {
		return numbers[n]
	}
	return strconv.Itoa(n)
}

// some is a number of objects: "a dog", "two dogs".
func (n noun) some(count int) string {
	if count == 1 {
		return withArticle(n.one)
	}
	return number(count) + " " + n.many
}

// another names new objects when total are in view with them: "a third dog", "two more dogs".
func (n noun) another(count, total int) string {
	switch {
	case count == total:
		return n.some(count)
	case count > 1:
		return number(count) + " more " + n.many
	case total < len(ordinals):
		return withArticle(ordinals[total] + " " + n.one)
	}
	return "another " + n.one
}

// of names some of the objects in view: "the dog", "one of the two dogs", "both dogs".
func (n noun) of(count, total int) string {
	switch {
	case total <= 1:
		return "the " + n.one
	case count < total:
		return number(count) + " of the " + number(total) + " " + n.many
	case total == 2:
		return "both " + n.many
	}
	return "all " + number(total) + " " + n.many
}

// verb is the form of a verb for a number of objects.
func verb(count int, one, many string) string {
	if count == 1 {
		return one
	}
	return many
}

// list joins words: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(words ...string) string {
	s := strings.Join(words, " ")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
