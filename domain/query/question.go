package query

// Ask is what a question wants to know about its statement.
type Ask string

// The closed list of what is asked.
const (
	// AskWhether asks whether the statement holds at some time.
	AskWhether Ask = "whether"
	// AskCount asks for the largest number of things that are visible at the same time.
	AskCount Ask = "count"
	// AskWhen asks for all times at which the statement holds.
	AskWhen Ask = "when"
	// AskTimes asks how often it begins to hold.
	AskTimes Ask = "times"
	// AskFirst and AskLast ask for the first and the last time.
	AskFirst Ask = "first"
	AskLast  Ask = "last"
	// AskDuration asks for how many seconds it holds in total.
	AskDuration Ask = "duration"
)

// Question is a question about a video in typed form. [Encode] gives its wire form, and
// [Query.Question] reads that again.
type Question struct {
	Ask  Ask
	Body Statement
	// Within are the parts of the video that the question is about, in the normal forms of a time
	// condition. All of them hold; none means the whole video.
	Within []string
	// Always asks whether the statement holds in all frames, not only in some: "for the entire video".
	Always bool
}

// Throughout is the time condition of a question with Always.
const Throughout = "always"

// Statement is something that is true or false of each frame. It is one of [Is], [Number], [Share],
// [And], [Or], [Not], [Order] and [More].
type Statement interface{ statement() }

// Is says that a thing is visible.
type Is struct{ Thing Thing }

// Number says how many instances of a thing are visible at the same time. None of them is [Not] of
// [Is].
type Number struct {
	Quantity Quantity
	Thing    Thing
}

// Universal says which of the instances of a thing must satisfy conditions.
type Universal string

// The closed list of universals.
const (
	// AllOf are all visible instances, at least one.
	AllOf Universal = "all"
	// MostOf are more than half of them.
	MostOf Universal = "most"
	// OnlyOf says that nothing else of the kind is visible.
	OnlyOf Universal = "only"
)

// Share says that all, most or only the visible instances of a thing satisfy conditions.
type Share struct {
	Which Universal
	Thing Thing
	// Conditions are what the instances satisfy. Those of Thing say which instances are meant.
	Conditions []Condition
}

// And says that all statements hold in the same frame. It has at least two.
type And struct{ Of []Statement }

// Or says that at least one of the statements holds. It has at least two.
type Or struct{ Of []Statement }

// Not says that a statement does not hold.
type Not struct{ Of Statement }

// Sequence relates the times of two statements.
type Sequence string

// The closed list of sequences.
const (
	// Before and After compare the times at which two statements begin to hold.
	Before Sequence = "before"
	After  Sequence = "after"
	// While says that both hold in the same frame.
	While Sequence = "while"
)

// Order says that one statement holds before, after or while another one does.
type Order struct {
	Sequence     Sequence
	First, Other Statement
}

// More says that more instances of one thing than of another are visible.
type More struct{ Thing, Than Thing }

func (Is) statement()     {}
func (Number) statement() {}
func (Share) statement()  {}
func (And) statement()    {}
func (Or) statement()     {}
func (Not) statement()    {}
func (Order) statement()  {}
func (More) statement()   {}

// Thing is a kind of object with conditions that one instance satisfies in the same frame.
type Thing struct {
	// Term is the user's noun, lower case, singular.
	Term string
	// Presupposed is true when the question assumes that the thing exists.
	Presupposed bool
	// Conditions have no Subject.
	Conditions []Condition
}

// Things returns the things of a statement in the order of its text.
func Things(s Statement) []Thing {
	switch s := s.(type) {
	case Is:
		return []Thing{s.Thing}
	case Number:
		return []Thing{s.Thing}
	case Share:
		t := s.Thing
		t.Conditions = append(append([]Condition{}, t.Conditions...), s.Conditions...)
		return []Thing{t}
	case And:
		return thingsOf(s.Of)
	case Or:
		return thingsOf(s.Of)
	case Not:
		return Things(s.Of)
	case Order:
		return thingsOf([]Statement{s.First, s.Other})
	case More:
		return []Thing{s.Thing, s.Than}
	}
	return nil
}

func thingsOf(of []Statement) []Thing {
	var out []Thing
	for _, s := range of {
		out = append(out, Things(s)...)
	}
	return out
}
