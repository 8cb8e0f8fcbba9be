package codec

import (
	"encoding/json"
	"fmt"
	"time"

	"vqa/domain/credit"
)

// defaultHoldLife is how long holds are taken to have been meant to live that were stored
// before they had an expiry.
const defaultHoldLife = 24 * time.Hour

// addHoldExpiry lifts credit.held to version 2.
func addHoldExpiry(old json.RawMessage) (json.RawMessage, error) {
	return withField(old, "expires_at", func(fields map[string]json.RawMessage) (any, error) {
		var at time.Time
		if err := json.Unmarshal(fields["at"], &at); err != nil {
			return nil, fmt.Errorf("at: %w", err)
		}
		return at.Add(defaultHoldLife), nil
	})
}

// addReleaseReason lifts credit.released to version 2: nothing expired before.
func addReleaseReason(old json.RawMessage) (json.RawMessage, error) {
	return withField(old, "reason", func(map[string]json.RawMessage) (any, error) { return credit.ByCommand, nil })
}

// addClaimedDuration lifts video.ready to version 2: the duration was the container's claim
// before, and is the only length known of those files.
func addClaimedDuration(old json.RawMessage) (json.RawMessage, error) {
	var fields, file map[string]json.RawMessage
	if err := json.Unmarshal(old, &fields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(fields["file"], &file); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	claimed, known := file["duration_micros"]
	if !known {
		return old, nil
	}
	lifted, err := withField(fields["file"], "claimed_micros", func(map[string]json.RawMessage) (any, error) { return claimed, nil })
	if err != nil {
		return nil, err
	}
	fields["file"] = lifted
	return json.Marshal(fields)
}

// unchanged lifts a payload to a version that may have a field more, or a few: what was
// stored before does not have them, and is read as it is.
func unchanged(old json.RawMessage) (json.RawMessage, error) { return old, nil }

// withField adds a field to a payload. Error: the payload is not an object, or has the
// field already, which its version does not know.
func withField(old json.RawMessage, name string, value func(map[string]json.RawMessage) (any, error)) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(old, &fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, fmt.Errorf("the payload is null")
	}
	if _, has := fields[name]; has {
		return nil, fmt.Errorf("the payload has %q already", name)
	}
	v, err := value(fields)
	if err != nil {
		return nil, err
	}
	if fields[name], err = json.Marshal(v); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}
