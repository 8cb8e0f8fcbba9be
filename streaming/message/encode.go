package message

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Encode returns the JSON form of a message. The member "type" is the first one.
func Encode(m Message) ([]byte, error) {
	if live, ok := m.(Live); ok {
		m = Live{LiveStartedAt: stamp(live.LiveStartedAt)}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message: encode %s: %w", m.Type(), err)
	}
	var b bytes.Buffer
	b.Grow(len(body) + len(m.Type()) + len(`{"type":"",`))
	b.WriteString(`{"type":"` + m.Type() + `"`)
	if members := body[1:]; len(members) > 1 {
		b.WriteByte(',')
		b.Write(members)
	} else {
		b.WriteByte('}')
	}
	return b.Bytes(), nil
}

// DecodeServer reads a message of the service, for clients. Members and types that a later version adds
// are not errors: an unknown type returns nil.
func DecodeServer(raw []byte) (Server, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("message: decode: %w", err)
	}
	read, known := servers[head.Type]
	if !known {
		return nil, nil
	}
	m, err := read(raw)
	if err != nil {
		return nil, fmt.Errorf("message: decode %s: %w", head.Type, err)
	}
	return m, nil
}

// servers has a reader for each type of message of the service.
var servers = map[string]func(raw []byte) (Server, error){
	Ready{}.Type(): read[Ready], Queued{}.Type(): read[Queued], Answer{}.Type(): read[Answer],
	ServerICE{}.Type(): read[ServerICE], Live{}.Type(): read[Live], Result{}.Type(): read[Result],
	PromptUpdated{}.Type(): read[PromptUpdated], Metering{}.Type(): read[Metering], Warning{}.Type(): read[Warning],
	ServerEnd{}.Type(): read[ServerEnd], Error{}.Type(): read[Error], Pong{}.Type(): read[Pong], Status{}.Type(): read[Status],
}

func read[M Server](raw []byte) (Server, error) {
	var m M
	err := json.Unmarshal(raw, &m)
	return m, err
}
