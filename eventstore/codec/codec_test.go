package codec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// painted has had three shapes: {"colour": "red"}, {"color": "red"} and
// {"colors": ["red"]}.
type painted struct {
	Colors []string `json:"colors"`
}

func (painted) EventType() string { return "test.painted" }

func renameColour(old json.RawMessage) (json.RawMessage, error) {
	var v struct{ Colour string }
	if err := json.Unmarshal(old, &v); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"color": v.Colour})
}

func listColors(old json.RawMessage) (json.RawMessage, error) {
	var v struct{ Color string }
	if err := json.Unmarshal(old, &v); err != nil {
		return nil, err
	}
	if v.Color == "" {
		return nil, errors.New("no color")
	}
	return json.Marshal(map[string][]string{"colors": {v.Color}})
}

func TestOldShapesAreConverted(t *testing.T) {
	t.Parallel()
	c := codec.New(codec.Register[painted]("test.painted", renameColour, listColors))
	red := painted{Colors: []string{"red"}}
	for stored, data := range map[string]string{
		"test.painted":   `{"colour":"red"}`,
		"test.painted@2": `{"color":"red"}`,
		"test.painted@3": `{"colors":["red"]}`,
	} {
		event, err := c.Unmarshal(stored, []byte(data))
		require.NoError(t, err, stored)
		require.Equal(t, red, event, stored)
	}
	stored, data, err := c.Marshal(red)
	require.NoError(t, err)
	require.Equal(t, "test.painted@3", stored)
	require.JSONEq(t, `{"colors":["red"]}`, string(data))
	require.Equal(t, []string{"test.painted@3"}, c.Names())
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	c := codec.New(codec.Register[painted]("test.painted", renameColour, listColors))
	unknown := map[string]bool{
		"": true, "test.other": true, "test.painted@4": true, "test.painted@1": true, "test.painted@0": true,
		"test.painted@": true, "test.painted@x": true, "test.painted@02": true, "test.painted@+2": true,
		"test.painted@2@2": true, "test.painted@99999999999999999999": true,
		// The name is valid and the payload is not:
		"test.painted@3": false, "test.painted@2": false, "test.painted": false,
	}
	for stored, isUnknown := range unknown {
		_, err := c.Unmarshal(stored, []byte(`{"colors":["red"],"size":1}`))
		require.Error(t, err, stored)
		var typed *codec.UnknownTypeError
		require.Equal(t, isUnknown, errors.As(err, &typed), "%s: %v", stored, err)
	}
	for _, data := range []string{``, `{`, `[]`, `{"colors":"red"}`, `{"colors":[]} {}`, `{"colors":[]}x`,
		`{"colors":[],"colors":[]}`, `{"colors":[],"shape":1}`, `{"Colors":[]}`,
	} {
		_, err := c.Unmarshal("test.painted@3", []byte(data))
		require.Error(t, err, data)
	}
}

type unregistered struct{}

func (unregistered) EventType() string { return "test.painted" }

func TestMarshalRefusesWhatIsNotRegistered(t *testing.T) {
	t.Parallel()
	c := codec.New(codec.Register[painted]("test.painted"))
	for _, event := range []eventstore.Event{nil, unregistered{}, &painted{}} {
		_, _, err := c.Marshal(event)
		var unknown *codec.UnknownTypeError
		require.ErrorAs(t, err, &unknown, fmt.Sprintf("%T", event))
	}
}

func TestNewPanicsOnAWrongRegistration(t *testing.T) {
	t.Parallel()
	ok := codec.Register[painted]("test.painted")
	for name, registrations := range map[string][]codec.Registration{
		"another name": {codec.Register[painted]("test.drawn")},
		"a version":    {codec.Register[painted]("test.painted@2")},
		"a pointer":    {codec.Register[*painted]("test.painted")},
		"twice":        {ok, ok},
		"name twice":   {ok, codec.Register[unregistered]("test.painted")},
	} {
		require.Panics(t, func() { codec.New(registrations...) }, name)
	}
}

func TestStreamIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := eventstore.StreamID{
			Category: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "category"),
			ID:       rapid.StringN(1, 20, -1).Draw(t, "id"),
		}
		got, err := codec.ParseStreamID(id.String())
		if err != nil || got != id {
			t.Fatalf("%q became %q (%v)", id, got, err)
		}
	})
	for _, s := range []string{"", "a", "/", "a/", "/b"} {
		_, err := codec.ParseStreamID(s)
		require.Error(t, err, s)
	}
}

func TestMetaRoundTrip(t *testing.T) {
	t.Parallel()
	meta := eventstore.Meta{AccountID: "acct_1", RequestID: "r", CorrelationID: "c", CausationID: "d", Actor: "a"}
	data, err := codec.MarshalMeta(meta)
	require.NoError(t, err)
	require.NotContains(t, string(data), "acct_1", "the account has its own column")
	got, err := codec.UnmarshalMeta("acct_1", data)
	require.NoError(t, err)
	require.Equal(t, meta, got)
	_, err = codec.UnmarshalMeta("", []byte("{"))
	require.Error(t, err)
}

func FuzzUnmarshal(f *testing.F) {
	c := codec.Events()
	for _, name := range c.Names() {
		f.Add(name, []byte(`{}`))
	}
	f.Add("credit.held@2", []byte(`{"seconds":1e400}`))
	f.Fuzz(func(t *testing.T, stored string, data []byte) {
		event, err := c.Unmarshal(stored, data)
		if err != nil {
			return
		}
		// A decoded event can be encoded, and decoding it again gives the same event.
		again, written, err := c.Marshal(event)
		require.NoError(t, err)
		back, err := c.Unmarshal(again, written)
		require.NoError(t, err)
		_, rewritten, err := c.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}

type readFirst struct {
	A int `json:"a"`
}

func (readFirst) EventType() string { return "test.read_first" }

// TestReadFirst: a release reads a new version, or a new type, and does not write it.
func TestReadFirst(t *testing.T) {
	t.Parallel()
	keep := func(old json.RawMessage) (json.RawMessage, error) { return old, nil }
	version := codec.New(codec.Register[readFirst]("test.read_first", keep, keep).ReadFirst())
	stored, data, err := version.Marshal(readFirst{A: 1})
	require.NoError(t, err)
	require.Equal(t, "test.read_first@2", stored)
	for _, name := range []string{"test.read_first", stored, "test.read_first@3"} {
		event, err := version.Unmarshal(name, data)
		require.NoError(t, err)
		require.Equal(t, readFirst{A: 1}, event)
	}
	_, err = version.Unmarshal("test.read_first@4", data)
	require.ErrorIs(t, err, eventstore.ErrUnknownEvent)
	require.Equal(t, []string{"test.read_first@2"}, version.Names())

	kind := codec.New(codec.Register[readFirst]("test.read_first").ReadFirst())
	_, err = kind.Unmarshal("test.read_first", data)
	require.NoError(t, err)
	_, _, err = kind.Marshal(readFirst{A: 1})
	require.ErrorContains(t, err, "does not write it yet")
	require.Empty(t, kind.Names())
}
