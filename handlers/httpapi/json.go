package httpapi

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

// parseJSON reads one JSON value strictly: UTF-8 without half characters, no trailing
// data, no member twice, no U+0000 in a string, numbers within float64, at most maxDepth
// levels. Numbers come as int64 where they are whole and fit, else as float64. Of malformed
// JSON it returns false and one violation whose param is "" (open-points.md, "Errors");
// violations that have a place are returned beside the value.
func parseJSON(raw []byte) (any, []fault.Violation, bool) {
	malformed := func(message string) (any, []fault.Violation, bool) {
		return nil, []fault.Violation{{Code: fault.Format, Message: message}}, false
	}
	if !utf8.Valid(raw) {
		return malformed("The body is not UTF-8.")
	}
	if nesting(raw) > maxDepth {
		return malformed(fmt.Sprintf("The body nests deeper than %d levels.", maxDepth))
	}
	var anything json.RawMessage
	if err := json.Unmarshal(raw, &anything); err != nil {
		return malformed("The body is not JSON: " + err.Error() + ".")
	}
	if halfCharacter(raw) {
		return malformed("The body has one half of a UTF-16 character.")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	p := &parser{dec: dec}
	value, err := p.value("")
	if err != nil {
		return malformed("The body is not JSON: " + err.Error() + ".")
	}
	return value, p.violations, true
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

// parser walks the tokens of valid JSON, because encoding/json neither refuses a
// repeated member nor says where it is.
type parser struct {
	dec        *json.Decoder
	violations []fault.Violation
}

func (p *parser) report(path, message string, code fault.ViolationCode) {
	p.violations = append(p.violations, fault.Violation{Param: path, Code: code, Message: message})
}

func (p *parser) value(path string) (any, error) {
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(path)
		}
		return p.list(path)
	case json.Number:
		return p.number(path, t.String()), nil
	case string:
		p.checkText(path, t)
		return t, nil
	default:
		return t, nil
	}
}

func (p *parser) object(path string) (any, error) {
	o := map[string]any{}
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("a member has no name")
		}
		at := join(path, name)
		p.checkText(at, name)
		if _, twice := o[name]; twice {
			p.report(at, "must not appear twice", fault.Exclusive)
		}
		if o[name], err = p.value(at); err != nil {
			return nil, err
		}
	}
	_, err := p.dec.Token()
	return o, err
}

func (p *parser) list(path string) (any, error) {
	l := []any{}
	for p.dec.More() {
		v, err := p.value(join(path, strconv.Itoa(len(l))))
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	_, err := p.dec.Token()
	return l, err
}

// number reads a number so that 1, 1.0 and 1e0 are the same.
func (p *parser) number(path, text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.report(path, "is out of the range of numbers", fault.Range)
		return 0.0
	}
	if f == math.Trunc(f) && math.Abs(f) <= exactFloat {
		return int64(f)
	}
	return f
}

// checkText refuses the one character that a Postgres text cannot hold.
func (p *parser) checkText(path, text string) {
	if strings.ContainsRune(text, 0) {
		p.report(path, "must not contain U+0000", fault.Format)
	}
}

// join makes a dotted path (open-points.md, "Errors").
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
