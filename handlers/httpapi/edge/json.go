package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"vqa/domain/fault"
)

// maxDepth bounds how deep objects and lists of a body may nest.
const maxDepth = 64

// exactFloat is the largest float64 below which every integer has its own float64.
const exactFloat = 1 << 53

// reading is a JSON value as it was read.
type reading struct {
	value any
	// violations are those that have a place in the value, at most maxViolations. omitted
	// counts the others.
	violations []fault.Violation
	omitted    int
}

// parseJSON reads one JSON value strictly: UTF-8 without half characters, no trailing
// data, no member twice, no U+0000 in a string, numbers within float64, at most maxDepth
// levels. Numbers come as int64 where they are whole and fit, else as float64. It keeps
// only what has room in r and skips the rest, so that memory and time depend on the
// contract and not on the body; nil keeps everything. Of malformed JSON it returns false
// and one violation whose param is "" (open-points.md, "Errors").
func parseJSON(raw []byte, r *room) (reading, bool) {
	malformed := func(message string) (reading, bool) {
		return reading{violations: []fault.Violation{{Code: fault.Format, Message: message}}}, false
	}
	if !utf8.Valid(raw) {
		return malformed("The body is not UTF-8.")
	}
	if nesting(raw) > maxDepth {
		return malformed(fmt.Sprintf("The body nests deeper than %d levels.", maxDepth))
	}
	if !json.Valid(raw) {
		var anything json.RawMessage
		return malformed(fmt.Sprintf("The body is not JSON: %v.", json.Unmarshal(raw, &anything)))
	}
	if halfCharacter(raw) {
		return malformed("The body has one half of a UTF-16 character.")
	}
	p := &parser{raw: raw}
	value, err := p.value(r)
	if err != nil {
		return malformed("The body is not JSON: " + err.Error() + ".")
	}
	p.reading.value = value
	return p.reading, true
}

// nesting is the deepest level of brackets outside of strings. It is exact for JSON,
// and bounds the work on what is not.
func nesting(raw []byte) int {
	deepest, depth, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// halfCharacter reports whether valid JSON escapes one half of a surrogate pair alone, which
// stands for no character and which encoding/json replaces without a word.
func halfCharacter(raw []byte) bool {
	escaped := func(i int) rune {
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		first := escaped(i)
		switch {
		case !utf16.IsSurrogate(first):
			i++ // the escaped character is none of an escape itself
		case utf16.DecodeRune(first, escaped(i+6)) == unicode.ReplacementChar:
			return true
		default:
			i += 11
		}
	}
	return false
}

// parser reads JSON that json.Valid has accepted, because encoding/json neither refuses a
// repeated member nor says where it is, and builds values of any size.
type parser struct {
	raw []byte
	// at is the index of the next byte.
	at int
	// path leads to the value that is read. It is joined only for a report: joining it at
	// each level made the work quadratic in the size of the body.
	path []string
	// strangers counts the members that were kept and that the schema does not name.
	strangers int
	reading
}

func (p *parser) report(message string, code fault.ViolationCode) {
	if len(p.violations) >= maxViolations {
		p.omitted++
		return
	}
	p.violations = append(p.violations, fault.Violation{Param: strings.Join(p.path, "."), Code: code, Message: message})
}

// next skips what separates values and returns the first byte after it.
func (p *parser) next() byte {
	for {
		switch c := p.raw[p.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			p.at++
		default:
			return c
		}
	}
}

func (p *parser) value(r *room) (any, error) {
	switch p.next() {
	case '{':
		p.at++
		if r != nil && !r.object {
			p.skip()
			return map[string]any{}, nil
		}
		return p.object(r)
	case '[':
		p.at++
		return p.list(r)
	case '"':
		text, err := p.text()
		p.checkText(text)
		return text, err
	}
	begin := p.at
	for p.at < len(p.raw) && !endsScalar(p.raw[p.at]) {
		p.at++
	}
	switch text := string(p.raw[begin:p.at]); text {
	case "true", "false":
		return text == "true", nil
	case "null":
		return nil, nil
	default:
		return p.number(text), nil
	}
}

// endsScalar reports whether a byte cannot be within a number or a literal.
func endsScalar(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ']', '}':
		return true
	default:
		return false
	}
}

func (p *parser) object(r *room) (any, error) {
	o := map[string]any{}
	for p.next() != '}' {
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		_, twice := o[name]
		inner, known := r.member(name)
		if !twice && !p.take(r, name, known) {
			if _, err := p.value(noRoom); err != nil {
				return nil, err
			}
			continue
		}
		p.path = append(p.path, name)
		p.checkText(name)
		if twice {
			p.report("must not appear twice", fault.Exclusive)
		}
		if o[name], err = p.value(inner); err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
	}
	p.at++
	return o, nil
}

// take reports whether a member is kept. Of those that the schema does not name, a body
// keeps maxViolations: enough to name each that is wrong.
func (p *parser) take(r *room, name string, known bool) bool {
	if r.names(name) {
		return true
	}
	if p.strangers < maxViolations {
		p.strangers++
		return true
	}
	if !known {
		p.omitted++
	}
	return false
}

// list keeps one item more than there is room for, so that the schema refuses the list.
func (p *parser) list(r *room) (any, error) {
	l := []any{}
	for p.next() != ']' {
		if len(l) > r.maxItems() {
			p.skip()
			return l, nil
		}
		p.path = append(p.path, strconv.Itoa(len(l)))
		v, err := p.value(r.item())
		if err != nil {
			return nil, err
		}
		l = append(l, v)
		p.path = p.path[:len(p.path)-1]
	}
	p.at++
	return l, nil
}

// skip moves behind the end of the object or list that it is in.
func (p *parser) skip() {
	for depth := 1; depth > 0; p.at++ {
		switch p.raw[p.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			p.at = p.endOfText()
		}
	}
}

// endOfText is the index of the quote that ends the string that begins here.
func (p *parser) endOfText() int {
	i := p.at + 1
	for p.raw[i] != '"' {
		if p.raw[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

func (p *parser) text() (string, error) {
	end := p.endOfText()
	quoted := p.raw[p.at : end+1]
	p.at = end + 1
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return text, err
}

// number reads a number so that 1, 1.0 and 1e0 are the same.
func (p *parser) number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.report("is out of the range of numbers", fault.Range)
		return 0.0
	}
	if f == math.Trunc(f) && math.Abs(f) <= exactFloat {
		return int64(f)
	}
	return f
}

// checkText refuses the one character that a Postgres text cannot hold.
func (p *parser) checkText(text string) {
	if strings.ContainsRune(text, 0) {
		p.report("must not contain U+0000", fault.Format)
	}
}

// join makes a dotted path (open-points.md, "Errors").
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
