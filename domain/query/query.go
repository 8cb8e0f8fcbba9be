package query

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// SchemaVersion is the only version of the compiled query.
const SchemaVersion = 1

// Intent is the form of a question (docs/contract.md#question-forms).
type Intent string

// The closed list of intents.
const (
	Presence       Intent = "presence"
	Absence        Intent = "absence"
	Count          Intent = "count"
	CountThreshold Intent = "count_threshold"
	Action         Intent = "action"
	Attribute      Intent = "attribute"
	Location       Intent = "location"
	State          Intent = "state"
	Compound       Intent = "compound"
	Segment        Intent = "segment"
	OpenEnded      Intent = "open_ended"
)

// Type is the coarse class of a question that a result repeats as query_type.
type Type string

// The closed list of types.
const (
	TypeObject    Type = "object"
	TypeAction    Type = "action"
	TypeCompound  Type = "compound"
	TypeAttribute Type = "attribute"
	TypeOpenEnded Type = "open_ended"
)

// Comparison relates a count to a number.
type Comparison string

// The closed list of comparisons.
const (
	Equal     Comparison = "eq"
	AtLeast   Comparison = "gte"
	AtMost    Comparison = "lte"
	MoreThan  Comparison = "gt"
	FewerThan Comparison = "lt"
)

// Quantity is a condition on how many instances of a subject are visible at the
// same time. Value is 0 to 1,000,000.
type Quantity struct {
	Op    Comparison `json:"op"`
	Value int        `json:"value"`
}

// Subject is one kind of object that the question is about.
type Subject struct {
	// ID is unique in the query: s1, s2, ….
	ID string `json:"id"`
	// Term is the user's noun, lower case, singular.
	Term string `json:"term"`
	// Quantity is nil when no number was asked about. In a compound, {eq 0}
	// asks for the absence of this subject.
	Quantity *Quantity `json:"quantity"`
	// Presupposed is true when the question assumes that the subject exists and only asks what
	// it is like or does: "is the man sitting".
	Presupposed bool `json:"presupposed,omitempty"`
	// Universal asks about all, most or only the instances; "" asks about any of them.
	Universal Universal `json:"universal,omitempty"`
}

// Kind is the kind of a condition.
type Kind string

// The closed list of kinds. The contract (docs/contract.md#compiled-query) lists the first
// four. KindTime is an addition: the segment form needs a place for its time window.
const (
	KindAttribute Kind = "attribute"
	KindAction    Kind = "action"
	KindLocation  Kind = "location"
	KindState     Kind = "state"
	KindTime      Kind = "time"
)

// Condition narrows a subject by an attribute, an action, a location, a state or a time.
type Condition struct {
	// Subject is the id of the subject.
	Subject string `json:"subject"`
	Kind    Kind   `json:"kind"`
	// Value is in the words of the question. Package query lists its normal forms.
	Value   string `json:"value"`
	Negated bool   `json:"negated"`
	// Presupposed is true when the condition says which instances are meant, and another one is asked
	// about them: "is the man in red sitting".
	Presupposed bool `json:"presupposed,omitempty"`
}

// Operator says how the subjects of a compound combine.
type Operator string

// The closed list of operators.
const (
	All Operator = "all"
	Any Operator = "any"
)

// Obstacle is the reason why a part of a question cannot be assessed.
type Obstacle string

// The closed list of obstacles.
const (
	Audio           Obstacle = "audio"
	Identity        Obstacle = "identity"
	Text            Obstacle = "text"
	Subjective      Obstacle = "subjective"
	ExhaustiveCount Obstacle = "exhaustive_count"
)

// Unassessable is a part of a question that no model of this service can assess.
type Unassessable struct {
	Kind Obstacle `json:"kind"`
	Text string   `json:"text"`
}

// GroupOp joins the members of a group.
type GroupOp string

// The closed list of these operators, beside those of a [Sequence]: before, after and while.
const (
	GroupAnd  GroupOp = "and"
	GroupOr   GroupOp = "or"
	GroupNot  GroupOp = "not"
	GroupMore GroupOp = "more"
)

// Group is a statement over subjects and over groups before it.
type Group struct {
	// ID is unique in the query: g1, g2, ….
	ID string  `json:"id"`
	Op GroupOp `json:"op"`
	// Of are ids, each used once in the query: one for not, at least two for and and or, else two. Those
	// of more are subjects.
	Of []string `json:"of"`
}

// Query is the compiled query; its JSON form is described by [Schema].
type Query struct {
	SchemaVersion int `json:"schema_version"`
	// OriginalPrompt is nil when the client sent a query instead of a prompt.
	OriginalPrompt *string `json:"original_prompt"`
	PromptIntent   Intent  `json:"prompt_intent"`
	QueryType      Type    `json:"query_type"`
	// Ask is what the question wants to know. A query without it asks for what its intent says.
	Ask        Ask         `json:"ask,omitempty"`
	Subjects   []Subject   `json:"subjects"`
	Conditions []Condition `json:"conditions"`
	Operator   Operator    `json:"operator"`
	// Negated is true when the whole question asks for absence.
	Negated bool `json:"negated"`
	// Groups is empty when Operator and Negated say how the subjects combine. The last group is the
	// whole statement.
	Groups []Group `json:"groups,omitempty"`
	// SearchTerms are the terms to collect evidence for. They are unique and ordered, and
	// include the term of each subject.
	SearchTerms            []string       `json:"search_terms"`
	UnassessableComponents []Unassessable `json:"unassessable_components"`
}

// MarshalJSON writes empty lists as [], because the schema requires lists.
func (q Query) MarshalJSON() ([]byte, error) {
	type plain Query
	return json.Marshal(plain(q.normal()))
}

// normal returns q with empty lists in place of nil ones.
func (q Query) normal() Query {
	if q.Subjects == nil {
		q.Subjects = []Subject{}
	}
	if q.Conditions == nil {
		q.Conditions = []Condition{}
	}
	if q.SearchTerms == nil {
		q.SearchTerms = []string{}
	}
	if q.UnassessableComponents == nil {
		q.UnassessableComponents = []Unassessable{}
	}
	return q
}

// Digest is the SHA-256, in lower-case hexadecimal, of the canonical JSON of q. Canonical
// means: fields in the order of the schema, no white space, empty lists as []. Equal queries
// have equal digests.
func Digest(q Query) string {
	raw, err := json.Marshal(q)
	if err != nil {
		// A Query holds strings, integers and booleans only, which always encode.
		panic("query: encode: " + err.Error())
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Reason says why an answer is indeterminate (docs/contract.md#result).
type Reason string

// The closed list of reasons.
const (
	LowConfidence         Reason = "low_confidence"
	NothingDetected       Reason = "nothing_detected"
	UnsupportedQueryForm  Reason = "unsupported_query_form"
	DurationMismatch      Reason = "duration_mismatch"
	UnsupportedActionTerm Reason = "unsupported_action_term"
)
