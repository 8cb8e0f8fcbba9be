package message

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"vqa/domain/fault"
)

const (
	// MaxOffer is the length of the longest message, in bytes. An offer of a browser has 5 to 20 KiB.
	MaxOffer = 64 << 10
	// MaxPromptUpdate is the length of the longest update_prompt, in bytes. A character of the prompt
	// can be 12 bytes long: two UTF-16 escapes.
	MaxPromptUpdate = 12*MaxPrompt + 1<<10
	// MaxOther is the length of all other messages, in bytes.
	MaxOther = 4 << 10
	// MaxPrompt is the number of characters of a prompt.
	MaxPrompt = 2000
	// MaxErrors is the number of ICE errors in one message.
	MaxErrors = 16
	// maxText is the length of a candidate and of the texts of an ICE error, in bytes.
	maxText = 1 << 10
	// maxTag is the length of the other strings of a candidate, in bytes. RFC 8839 allows 256.
	maxTag = 256
	// maxShown is the number of bytes of an unknown name that an error repeats.
	maxShown = 64
)

// Decode reads a message of the client. The error is a *fault.Fault: validation_failed, prompt_empty or
// prompt_too_long.
func Decode(raw []byte) (Client, error) {
	if len(raw) > MaxOffer {
		return nil, tooLong(MaxOffer)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, invalid("", fault.Format, malformed(err))
	}
	o, isObject := tree.(map[string]any)
	if !isObject {
		return nil, invalid("", fault.Type, "The message must be a JSON object.")
	}
	r := &reader{}
	name := r.text("type", o, maxShown)
	if r.err != nil {
		return nil, r.err
	}
	read, known := clients[name]
	if !known {
		return nil, invalid("type", fault.Enum, fmt.Sprintf("must be one of %s", strings.Join(slices.Sorted(maps.Keys(clients)), ", ")))
	}
	if len(raw) > read.most {
		return nil, tooLong(read.most)
	}
	r.only("", o, append(read.members, "type")...)
	m := read.read(r, o)
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// clients has a reader for each type of message of the client.
var clients = map[string]struct {
	most    int
	members []string
	read    func(r *reader, o map[string]any) Client
}{
	"join": {most: MaxOther, read: func(*reader, map[string]any) Client { return Join{} }},
	"end":  {most: MaxOther, read: func(*reader, map[string]any) Client { return ClientEnd{} }},
	"ping": {most: MaxOther, read: func(*reader, map[string]any) Client { return Ping{} }},
	"offer": {most: MaxOffer, members: []string{"sdp"}, read: func(r *reader, o map[string]any) Client {
		return Offer{SDP: r.text("sdp", o, MaxOffer)}
	}},
	"ice": {most: MaxOther, members: []string{"candidate", "errors"}, read: func(r *reader, o map[string]any) Client {
		return ClientICE{Candidate: r.candidate(o), Errors: r.errors(o)}
	}},
	"update_prompt": {most: MaxPromptUpdate, members: []string{"prompt"}, read: func(r *reader, o map[string]any) Client {
		return UpdatePrompt{Prompt: r.prompt(o)}
	}},
}

// reader reads members of objects. It keeps the first error.
type reader struct{ err error }

func (r *reader) fail(param string, code fault.ViolationCode, text string) {
	if r.err == nil {
		r.err = invalid(param, code, text)
	}
}

// only refuses members that are not named.
func (r *reader) only(path string, o map[string]any, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(names, name) {
			if len(name) > maxShown {
				name = strings.ToValidUTF8(name[:maxShown], "") + "…"
			}
			r.fail(path+name, fault.UnknownField, "is not a member of this message")
		}
	}
}

// text reads a string that is required and not empty. The last part of the path is the name of the member.
func (r *reader) text(path string, o map[string]any, most int) string {
	s := r.string(path, o, most)
	if s == "" {
		r.fail(path, fault.Length, "must not be empty")
	}
	return s
}

// string reads a string that is required.
func (r *reader) string(path string, o map[string]any, most int) string {
	value, given := o[path[strings.LastIndexByte(path, '.')+1:]]
	s, isString := value.(string)
	switch {
	case !given:
		r.fail(path, fault.Required, "is required")
	case !isString:
		r.fail(path, fault.Type, "must be a string")
	case len(s) > most:
		r.fail(path, fault.Length, fmt.Sprintf("must have at most %d bytes", most))
	case strings.ContainsRune(s, 0):
		r.fail(path, fault.Format, "must not contain the character U+0000")
	}
	return s
}

// optional reads a string that may be absent or null.
func (r *reader) optional(path string, o map[string]any, most int) *string {
	if o[path[strings.LastIndexByte(path, '.')+1:]] == nil {
		return nil
	}
	return new(r.string(path, o, most))
}

// integer reads a whole number from 0 to most. It returns nil when the number is absent or null.
func (r *reader) integer(path string, o map[string]any, most float64) *float64 {
	value := o[path[strings.LastIndexByte(path, '.')+1:]]
	if value == nil {
		return nil
	}
	n, isNumber := value.(float64)
	switch {
	case !isNumber || n != math.Trunc(n):
		r.fail(path, fault.Type, "must be an integer")
	case n < 0 || n > most:
		r.fail(path, fault.Range, fmt.Sprintf("must be from 0 to %.0f", most))
	default:
		return &n
	}
	return nil
}

func (r *reader) prompt(o map[string]any) string {
	prompt := r.string("prompt", o, MaxPromptUpdate)
	switch {
	case r.err != nil:
	case strings.TrimSpace(prompt) == "":
		r.err = fault.New(fault.PromptEmpty, "The prompt is empty. Write a question about the video.").WithParam("prompt")
	case utf8.RuneCountInString(prompt) > MaxPrompt:
		r.err = fault.New(fault.PromptTooLong, "").WithParam("prompt")
	}
	return prompt
}

func (r *reader) candidate(o map[string]any) *Candidate {
	value, given := o["candidate"]
	if !given {
		r.fail("candidate", fault.Required, "is required; null says that all candidates were sent")
	}
	if value == nil {
		return nil
	}
	c, isObject := value.(map[string]any)
	if !isObject {
		r.fail("candidate", fault.Type, "must be an RTCIceCandidateInit object or null")
		return nil
	}
	r.only("candidate.", c, "candidate", "sdpMid", "sdpMLineIndex", "usernameFragment")
	out := &Candidate{
		Candidate: r.string("candidate.candidate", c, maxText), SDPMid: r.optional("candidate.sdpMid", c, maxTag),
		UsernameFragment: r.optional("candidate.usernameFragment", c, maxTag),
	}
	if n := r.integer("candidate.sdpMLineIndex", c, math.MaxUint16); n != nil {
		out.SDPMLineIndex = new(uint16(*n))
	}
	return out
}

func (r *reader) errors(o map[string]any) []ICEError {
	value, given := o["errors"]
	if !given {
		return nil
	}
	list, isList := value.([]any)
	if !isList {
		r.fail("errors", fault.Type, "must be a list")
		return nil
	}
	if len(list) > MaxErrors {
		r.fail("errors", fault.Length, fmt.Sprintf("must have at most %d items", MaxErrors))
		return nil
	}
	out := make([]ICEError, len(list))
	for i, item := range list {
		out[i] = r.iceError(fmt.Sprintf("errors.%d", i), item)
	}
	return out
}

func (r *reader) iceError(path string, value any) ICEError {
	o, isObject := value.(map[string]any)
	if !isObject {
		r.fail(path, fault.Type, "must be an object")
		return ICEError{}
	}
	r.only(path+".", o, "url", "errorCode", "errorText")
	out := ICEError{URL: r.string(path+".url", o, maxText)}
	if _, given := o["errorText"]; given {
		out.Text = r.string(path+".errorText", o, maxText)
	}
	if n := r.integer(path+".errorCode", o, 999); n != nil {
		out.Code = int(*n)
	} else {
		r.fail(path+".errorCode", fault.Required, "is required")
	}
	return out
}

func invalid(param string, code fault.ViolationCode, text string) error {
	return fault.Invalid(fault.Violation{Param: param, Code: code, Message: text})
}

func tooLong(most int) error {
	return invalid("", fault.Length, fmt.Sprintf("The message is too long. It may have at most %d bytes.", most))
}

// malformed says why raw is not JSON, without the path, which can be as long as the message.
func malformed(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("The message is not valid JSON at byte %d: %v.", syntax.ByteOffset, syntax.Err)
	}
	return "The message is not valid JSON."
}
