package main

import (
	"fmt"
	"os"
	"strings"

	"vqa/domain/answer"
	"vqa/domain/answer/predicate"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: document QUESTIONS.MD")
		os.Exit(2)
	}
	page, err := os.ReadFile(os.Args[1])
	if err == nil {
		page, err = rewritten(page)
	}
	if err == nil {
		err = os.WriteFile(os.Args[1], page, 0o644) //nolint:gosec // a document that everybody may read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parts are the generated parts of the page.
var parts = map[string]func() string{"asks": asksTable, "predicates": predicatesTable, "colors": colorsText, "refusals": refusalsTable}

// rewritten returns the page with all parts written again.
func rewritten(page []byte) ([]byte, error) {
	text := string(page)
	for name, part := range parts {
		begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return nil, fmt.Errorf("the page lacks the lines of the part %q", name)
		}
		text = before + begin + part() + end + after
	}
	return []byte(text), nil
}

// table joins rows, the head first.
func table(rows ...[]string) string {
	var out strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			out.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return out.String()
}

func predicatesTable() string {
	rows := [][]string{{"say", "or", "of", "needs", "for example"}}
	for _, r := range predicate.Rows {
		rows = append(rows, []string{plain(r.Form), plain(strings.Join(r.Phrases, ", ")), string(r.Who), strings.Join(needs(r), ", "), r.Example})
	}
	return table(rows...)
}

// plain writes the parts of a form in lower case italics: "next to OBJECT".
func plain(form string) string {
	words := strings.Split(form, " ")
	for i, w := range words {
		bare := strings.Trim(w, "[],")
		if bare != "" && bare == strings.ToUpper(bare) {
			words[i] = strings.Replace(w, bare, "*"+strings.ToLower(bare)+"*", 1)
		}
	}
	return strings.Join(words, " ")
}

func needs(r predicate.Row) []string {
	var out []string
	if r.Needs.Pose {
		out = append(out, "keypoints")
	}
	if r.Needs.Colors {
		out = append(out, "colors")
	}
	if r.Needs.PerSecond > 0 {
		out = append(out, fmt.Sprintf("%d frames a second", r.Needs.PerSecond))
	}
	return out
}

func colorsText() string {
	rows := [][]string{{"of", "said"}, {"anything", strings.Join(query.Colors(), ", ") + "; dark and light shades count as their color"}}
	for _, part := range []struct {
		on   query.BodyPart
		name string
	}{{query.UpperBody, "worn on the trunk"}, {query.LowerBody, "worn on the legs"}, {query.WholeBody, "worn on both"}} {
		rows = append(rows, []string{part.name, strings.Join(query.Garments(part.on), ", ")})
	}
	return table(rows...)
}

// asks are what can be asked, by the name that the typed question has for it.
var asks = []struct{ name, example, answered string }{
	{"whether", "Is there a dog?", "yes or no, and the clips"},
	{"not", "Is there no cat?", "yes or no"},
	{"always", "Is there a dog the whole time?", "yes or no"},
	{"count", "How many cars are there?", "a number: the most at the same time"},
	{"number", "Are there at least three people?", "yes or no, and the number"},
	{"when", "When does the dog appear?", "yes or no, and all clips"},
	{"times", "How many times does a person enter?", "a number: how often it begins"},
	{"first", "When does the dog first appear?", "yes or no, and the first clip"},
	{"last", "When does the dog last appear?", "yes or no, and the last clip"},
	{"duration", "How long is the dog visible?", "yes or no, and the clips; their lengths add up"},
	{"all", "Are all people sitting?", "yes or no"},
	{"most", "Are most of the people standing?", "yes or no"},
	{"only", "Are only dogs in the video?", "yes or no"},
	{"and", "Is there a dog and a cat?", "yes or no, and the clips with both"},
	{"or", "Is there a dog or a cat?", "yes or no, and the clips with either"},
	{"before", "Does a dog appear before a cat appears?", "yes or no"},
	{"after", "Does a dog appear after a cat appears?", "yes or no"},
	{"while", "Is a person sitting while a dog is running?", "yes or no, and the clips with both"},
	{"more", "Are there more dogs than cats?", "yes or no, and the clips"},
	{"within", "Is there a truck in the first ten seconds?", "as above, for that part of the video"},
}

func asksTable() string {
	rows := [][]string{{"ask", "for example", "the answer is"}}
	for _, a := range asks {
		rows = append(rows, []string{a.name, a.example, a.answered})
	}
	return table(rows...)
}

// refused are questions of the kinds that are not answered.
var refused = []string{
	"Is the door open?", "Is the dog eating?", "Is there a wooden chair?", "Is there a dog in the background?",
	"What happens in this video?", "Can you hear a dog bark?", "Who is the woman?", "What does the sign say?", "Is the dress beautiful?",
}

func refusalsTable() string {
	rows := [][]string{{"question", "reason"}}
	for _, q := range refused {
		rows = append(rows, []string{q, answer.Refused(english.Compile(q)).UnsupportedAction.Reason})
	}
	return table(rows...)
}
