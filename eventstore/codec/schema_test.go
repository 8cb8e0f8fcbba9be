package codec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

const schemaDir = "../../docs/schemas/events"

// compileSchema returns the committed schema of a stored name. The schema must be valid JSON Schema 2020-12,
// including formats.
func compileSchema(t *testing.T, stored string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemaDir, stored+".json"))
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("urn:vqa:event:"+stored, doc))
	schema, err := compiler.Compile("urn:vqa:event:" + stored)
	require.NoError(t, err)
	return schema
}

func validate(t require.TestingT, schema *jsonschema.Schema, payload []byte) error {
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	require.NoError(t, err)
	return schema.Validate(instance)
}

// TestSchemasFitWhatIsStored encodes arbitrary values of each type, also empty ones. The payloads match the
// schema. A payload without a required field, or with an unknown one, does not match.
func TestSchemasFitWhatIsStored(t *testing.T) {
	t.Parallel()
	c := codec.Events().NextRelease()
	for _, stored := range c.Names() {
		schema := compileSchema(t, stored)
		t.Run(stored, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				value := reflect.New(c.Type(stored)).Elem()
				draw(rt, value, "event")
				_, data, err := c.Marshal(value.Interface().(eventstore.Event))
				require.NoError(rt, err)
				require.NoError(rt, validate(rt, schema, data), "%s", data)

				var fields map[string]any
				require.NoError(rt, json.Unmarshal(data, &fields))
				for _, name := range schema.Required {
					kept := fields[name]
					delete(fields, name)
					require.Error(rt, schema.Validate(fields), "without %s", name)
					fields[name] = []any{[]any{kept}}
					require.Error(rt, schema.Validate(fields), "with a list in place of %s", name)
					fields[name] = kept
				}
				fields["foreign"] = true
				require.Error(rt, schema.Validate(fields))
			})
		})
	}
}

// draw sets a value to an arbitrary one that its type allows.
func draw(t *rapid.T, v reflect.Value, label string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		micros := rapid.Int64Range(-62135596800e6, 253402300799e6).Draw(t, label) // the years 1 to 9999
		v.Set(reflect.ValueOf(time.UnixMicro(micros).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringN(0, 8, -1).Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, label))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, label))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, label+" is set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), label)
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 2).Draw(t, label+" members"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				draw(t, v.Index(i), fmt.Sprint(label, i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			draw(t, v.Index(i), fmt.Sprint(label, i))
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 2).Draw(t, label+" members"); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				draw(t, key, fmt.Sprint(label, ".key", i))
				draw(t, value, fmt.Sprint(label, i))
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i), label+"."+v.Type().Field(i).Name)
		}
	default:
		t.Fatalf("%s: draw cannot make a %s", label, v.Type())
	}
}

type (
	colour string
	inner  struct {
		A int     `json:"a"`
		B *string `json:"b"`
	}
	// everything has each kind of field that an event may have.
	everything struct {
		Text    colour             `json:"text"`
		Count   int64              `json:"count"`
		Share   *float64           `json:"share,omitempty"`
		Until   *time.Time         `json:"until,omitempty"`
		At      time.Time          `json:"at"`
		Inner   inner              `json:"inner"`
		List    []inner            `json:"list"`
		Some    []string           `json:"some,omitempty"`
		Map     map[string]float64 `json:"map,omitempty"`
		Triple  [3]uint8           `json:"triple"`
		Bytes   []byte             `json:"bytes,omitempty"`
		Unless  bool               `json:"unless,omitzero"`
		Address eventstore.Chain   `json:"address"`
	}
)

func (everything) EventType() string { return "test.everything" }

func TestSchemaSaysWhatMayBeAbsentOrNull(t *testing.T) {
	t.Parallel()
	schema, err := codec.New(codec.Register[everything]("test.everything")).Schema("test.everything")
	require.NoError(t, err)
	fields, err := codec.Fields(schema)
	require.NoError(t, err)
	said := map[string]string{}
	for _, f := range fields {
		said[f.Path] = f.String()
	}
	require.Equal(t, map[string]string{
		"text":      "string",
		"count":     "integer",
		"share":     "number, optional",
		"until":     "string (date-time), optional",
		"at":        "string (date-time)",
		"inner":     "object",
		"inner.a":   "integer",
		"inner.b":   "string or null",
		"list":      "list or null",
		"list[]":    "object",
		"list[].a":  "integer",
		"list[].b":  "string or null",
		"some":      "list, optional",
		"some[]":    "string",
		"map":       "map, optional",
		"map{}":     "number",
		"triple":    "list (minItems 3) (maxItems 3)",
		"triple[]":  "integer (minimum 0)",
		"bytes":     "string (base64), optional",
		"unless":    "boolean, optional",
		"address":   "list (minItems 32) (maxItems 32)",
		"address[]": "integer (minimum 0)",
	}, said)
}

type (
	holdsAny struct {
		Any any `json:"any"`
	}
	holdsItself struct {
		Next *holdsItself `json:"next,omitempty"`
	}
	holdsNulls struct {
		List []*int `json:"list"`
	}
	holdsUntagged struct{ Name string }
	holdsRaw      struct {
		Raw json.RawMessage `json:"raw"`
	}
	holdsChannel struct {
		C map[string]chan int `json:"c"`
	}
	writesMore struct {
		A int `json:"a"`
	}
)

func (holdsAny) EventType() string      { return "test.bad" }
func (holdsItself) EventType() string   { return "test.bad" }
func (holdsNulls) EventType() string    { return "test.bad" }
func (holdsUntagged) EventType() string { return "test.bad" }
func (holdsRaw) EventType() string      { return "test.bad" }
func (holdsChannel) EventType() string  { return "test.bad" }
func (writesMore) EventType() string    { return "test.bad" }

func (writesMore) MarshalJSON() ([]byte, error) { return []byte(`{"a":1,"b":2}`), nil }

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	for want, registration := range map[string]codec.Registration{
		"holdsAny.Any: an event cannot have a interface":    codec.Register[holdsAny]("test.bad"),
		"holdsItself.Next: codec_test.holdsItself contains": codec.Register[holdsItself]("test.bad"),
		"holdsNulls.List[]: a member cannot be a *int":      codec.Register[holdsNulls]("test.bad"),
		"holdsUntagged.Name needs a json tag":               codec.Register[holdsUntagged]("test.bad"),
		"holdsRaw.Raw: an event cannot have a json.Raw":     codec.Register[holdsRaw]("test.bad"),
		"holdsChannel.C{}: an event cannot have a chan":     codec.Register[holdsChannel]("test.bad"),
		`writes "b", which is not one of its fields`:        codec.Register[writesMore]("test.bad"),
	} {
		_, err := codec.New(registration).Schema("test.bad")
		require.ErrorContains(t, err, want)
	}
	for _, stored := range []string{"credit.held@2", "test.none", ""} {
		_, err := codec.Events().Schema(stored)
		var unknown *codec.UnknownTypeError
		require.ErrorAs(t, err, &unknown, stored)
	}
}
