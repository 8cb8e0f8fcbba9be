package edge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"vqa/domain/fault"
)

// maxDepth is the deepest nesting of objects and lists in a body.
const maxDepth = 64

// exactFloat is 2^53: float64 represents every integer up to it exactly.
const exactFloat = 1 << 53

// reading is a parsed JSON value.
type reading struct {
	value any
	// violations are at most maxViolations. omitted counts the others.
	violations []fault.Violation
	omitted    int
}

// errDeep refuses a body that nests deeper than maxDepth.
var errDeep = fmt.Errorf("nests deeper than %d levels", maxDepth)

// parseJSON reads one JSON value strictly: UTF-8, no unpaired UTF-16 surrogates, no trailing
// data, no repeated member, no U+0000 in a string, numbers within float64, at most maxDepth
// levels. Whole numbers that fit come as int64, others as float64.
//
// It keeps only the values within b and skips the rest, so that memory depends on the
// contract and not on the body. nil keeps everything. For malformed JSON it returns false
// and one violation with an empty param (docs/contract.md#error-violations).
func parseJSON(raw []byte, b *bounds) (reading, bool) {
	// The parser reports repeated members itself: the decoder stops at the first.
	p := &parser{decoder: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))}
	value, err := p.value(b)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return reading{violations: []fault.Violation{{Code: fault.Format, Message: malformed(err)}}}, false
	}
	p.reading.value = value
	return p.reading, true
}

// malformed returns the message for a body that is not JSON. It leaves out the path of a
// SyntacticError, because the path can be as long as the body.
func malformed(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errDeep):
		return fmt.Sprintf("The body nests deeper than %d levels.", maxDepth)
	case errors.As(err, &syntax):
		return fmt.Sprintf("The body is not valid JSON at byte %d: %v.", syntax.ByteOffset, syntax.Err)
	case errors.Is(err, io.EOF):
		return "The body is not valid JSON: it is empty."
	default:
		return fmt.Sprintf("The body is not valid JSON: %v.", err)
	}
}

// parser builds a value from the tokens of a decoder. The decoder checks the grammar. The
// parser reports each other violation with the path of its value.
type parser struct {
	decoder *jsontext.Decoder
	// path is the path of the current value. It is joined only for a violation: joining it
	// at each level took time quadratic in the size of the body.
	path []string
	// unnamed counts the kept members that the schema does not name.
	unnamed int
	reading
}

func (p *parser) report(message string, code fault.ViolationCode) {
	if len(p.violations) >= maxViolations {
		p.omitted++
		return
	}
	p.violations = append(p.violations, fault.Violation{Param: strings.Join(p.path, "."), Code: code, Message: message})
}

// token reads the next token. Error: errDeep.
func (p *parser) token() (jsontext.Token, error) {
	t, err := p.decoder.ReadToken()
	if err == nil && p.decoder.StackDepth() > maxDepth {
		err = errDeep
	}
	return t, err
}

// end reports data after the value.
func (p *parser) end() error {
	_, err := p.decoder.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("there is data after the value")
	default:
		return err
	}
}

func (p *parser) value(b *bounds) (any, error) {
	t, err := p.token()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '{':
		if b != nil && !b.object {
			return map[string]any{}, p.skip()
		}
		return p.object(b)
	case '[':
		return p.list(b)
	case '"':
		text := t.String()
		p.checkText(text)
		return text, nil
	case 't', 'f':
		return t.Bool(), nil
	case 'n':
		return nil, nil
	default:
		return p.number(t.String()), nil
	}
}

func (p *parser) object(b *bounds) (any, error) {
	o := map[string]any{}
	for {
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		if t.Kind() == '}' {
			return o, nil
		}
		name := t.String()
		_, twice := o[name]
		inner, known := b.member(name)
		if !twice && !p.keep(b, name, known) {
			if _, err := p.value(scalarBounds); err != nil {
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
}

// keep reports whether a member is kept. Of the members that the schema does not name,
// maxViolations are kept: enough to report them.
func (p *parser) keep(b *bounds, name string, known bool) bool {
	if b.names(name) {
		return true
	}
	if p.unnamed < maxViolations {
		p.unnamed++
		return true
	}
	if !known {
		p.omitted++
	}
	return false
}

// list keeps one item more than the schema accepts, so that the schema refuses the list.
func (p *parser) list(b *bounds) (any, error) {
	l := []any{}
	for p.decoder.PeekKind() != ']' {
		if len(l) > b.maxItems() {
			return l, p.skip()
		}
		p.path = append(p.path, strconv.Itoa(len(l)))
		v, err := p.value(b.item())
		if err != nil {
			return nil, err
		}
		l = append(l, v)
		p.path = p.path[:len(p.path)-1]
	}
	_, err := p.token()
	return l, err
}

// skip reads the rest of the object or list that the parser is in.
func (p *parser) skip() error {
	for depth := p.decoder.StackDepth(); p.decoder.StackDepth() >= depth; {
		if _, err := p.token(); err != nil {
			return err
		}
	}
	return nil
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

// checkText refuses U+0000, which a text in Postgres cannot contain.
func (p *parser) checkText(text string) {
	if strings.ContainsRune(text, 0) {
		p.report("must not contain U+0000", fault.Format)
	}
}

// join returns a dotted path (docs/contract.md#error-violations).
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
