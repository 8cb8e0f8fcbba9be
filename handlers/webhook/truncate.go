package webhook

import (
	"encoding/json"
	"fmt"
)

// maxBody is the largest body in bytes (docs/contract.md#limits).
const maxBody = 256 << 10

// cutOrder lists the lists of a resource that are cut, in this order.
var cutOrder = [][]string{
	{"result", "clips"}, {"result", "count_evidence"}, {"narrative", "entries"}, {"result", "receipt", "sampled"},
	{"query", "unassessable_components"}, {"query", "search_terms"}, {"query", "conditions"}, {"query", "subjects"},
}

// keptFields are the fields of a resource that is too long without its lists.
var keptFields = []string{"id", "object", "livemode", "status"}

// tree is a JSON object whose members are not decoded yet.
type tree map[string]json.RawMessage

// truncate returns an event whose JSON has at most limit bytes. An event that fits is returned
// unchanged.
func truncate(body []byte, limit int) ([]byte, error) {
	if len(body) <= limit {
		return body, nil
	}
	var event, data tree
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, fmt.Errorf("truncate an event: %w", err)
	}
	if err := json.Unmarshal(event["data"], &data); err != nil {
		return nil, fmt.Errorf("truncate an event: %w", err)
	}
	data["truncated"] = json.RawMessage("true")
	for _, path := range cutOrder {
		body, err := event.with(data)
		if err != nil || len(body) <= limit {
			return body, err
		}
		if err := data.cut(path, len(body)-limit); err != nil {
			return nil, err
		}
	}
	body, err := event.with(data)
	if err != nil || len(body) <= limit {
		return body, err
	}
	short := tree{"truncated": data["truncated"]}
	for _, name := range keptFields {
		if value, ok := data[name]; ok {
			short[name] = value
		}
	}
	return event.with(short)
}

// with returns the event with other data.
func (t tree) with(data tree) (body []byte, err error) {
	if t["data"], err = json.Marshal(data); err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// cut removes elements from the end of the list at a path until excess bytes are gone or the list is
// empty. A path without a list changes nothing.
func (t tree) cut(path []string, excess int) (err error) {
	raw, ok := t[path[0]]
	if !ok || string(raw) == "null" {
		return nil
	}
	if len(path) > 1 {
		var inner tree
		if err := json.Unmarshal(raw, &inner); err != nil {
			return fmt.Errorf("truncate %s: %w", path[0], err)
		}
		if err := inner.cut(path[1:], excess); err != nil {
			return err
		}
		t[path[0]], err = json.Marshal(inner)
		return err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("truncate %s: %w", path[0], err)
	}
	for len(list) > 0 && excess > 0 {
		last := len(list) - 1
		excess -= len(list[last]) + len(",")
		list = list[:last]
	}
	t[path[0]], err = json.Marshal(list)
	return err
}
