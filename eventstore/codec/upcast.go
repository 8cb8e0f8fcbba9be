package codec

import (
	"encoding/json"
	"fmt"
	"time"

	"vqa/domain/credit"
)

// defaultHoldLife is the life of a hold that was stored without an expiry.
const defaultHoldLife = 24 * time.Hour

// addHoldExpiry converts credit.held to version 2, which has expires_at.
func addHoldExpiry(old json.RawMessage) (json.RawMessage, error) {
	return withField(old, "expires_at", func(fields map[string]json.RawMessage) (any, error) {
		var at time.Time
		if err := json.Unmarshal(fields["at"], &at); err != nil {
			return nil, fmt.Errorf("at: %w", err)
		}
		return at.Add(defaultHoldLife), nil
	})
}

// addReleaseReason converts credit.released to version 2, which has a reason. The reason of an older
// release is a command, because holds did not expire then.
func addReleaseReason(old json.RawMessage) (json.RawMessage, error) {
	return withField(old, "reason", func(map[string]json.RawMessage) (any, error) { return credit.ByCommand, nil })
}

// addClaimedDuration converts video.ready to version 2, which has the duration that the container
// claims. In version 1 the only duration was this claim.
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
	converted, err := withField(fields["file"], "claimed_micros", func(map[string]json.RawMessage) (any, error) { return claimed, nil })
	if err != nil {
		return nil, err
	}
	fields["file"] = converted
	return json.Marshal(fields)
}

// unchanged converts a payload to a version that only adds optional fields. The older payload is
// valid as it is.
func unchanged(old json.RawMessage) (json.RawMessage, error) { return old, nil }

// withField adds a field to a payload. Errors: the payload is not an object, or it already has the
// field.
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
