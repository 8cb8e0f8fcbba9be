package codec_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

var update = flag.Bool("update", false, "write the golden payloads that do not exist yet")

const goldenDir = "testdata/golden"

// TestGoldenPayloads compares the payloads of the codec, byte for byte, with those that it wrote when the event
// was introduced. After a difference, old events would be read wrongly. Then register an upcaster, which gives
// the event a new stored name, and run the test with -update. It adds files and never changes one.
func TestGoldenPayloads(t *testing.T) {
	t.Parallel()
	c := codec.Events().NextRelease()
	for _, stored := range c.Names() {
		t.Run(stored, func(t *testing.T) {
			t.Parallel()
			value := reflect.New(c.Type(stored)).Elem()
			fill(t, value, stored, 0)
			event := value.Interface().(eventstore.Event)
			name, data, err := c.Marshal(event)
			require.NoError(t, err)
			require.Equal(t, stored, name)

			path := filepath.Join(goldenDir, stored+".json")
			golden, err := os.ReadFile(path)
			if os.IsNotExist(err) && *update {
				require.NoError(t, os.WriteFile(path, append(data, '\n'), 0o644))
				golden, err = os.ReadFile(path)
			}
			require.NoError(t, err, "run the test with -update and commit the new file")
			require.Equal(t, strings.TrimSuffix(string(golden), "\n"), string(data))

			decoded, err := c.Unmarshal(stored, data)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(event, decoded))
		})
	}
}

// TestEveryGoldenPayloadIsReadable reads every shape ever stored. It matches the schema of its version, and the
// converted payload matches the newest schema.
func TestEveryGoldenPayloadIsReadable(t *testing.T) {
	t.Parallel()
	c := codec.Events().NextRelease()
	require.Equal(t, storedNames(t, schemaDir), storedNames(t, goldenDir), "every version has a schema and a payload")
	for _, entry := range c.Registry() {
		newest := compileSchema(t, entry.Stored[len(entry.Stored)-1])
		for _, stored := range entry.Stored {
			data, err := os.ReadFile(filepath.Join(goldenDir, stored+".json"))
			require.NoError(t, err, "every version ever stored has a payload")
			require.NoError(t, validate(t, compileSchema(t, stored), data), stored)

			event, err := c.Unmarshal(stored, data)
			require.NoError(t, err, stored)
			lifted, err := json.Marshal(event)
			require.NoError(t, err, stored)
			require.NoError(t, validate(t, newest, lifted), "%s lifted to %s", stored, lifted)
		}
	}
}

// storedNames returns the stored names of the files in a directory.
func storedNames(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names
}

// fill sets every stored field to a non-zero value that depends on its path. So a golden payload has each field,
// and decoded events can be compared.
func fill(t *testing.T, v reflect.Value, path string, n int) {
	t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 2, 3, 4, 5, 6, 7000*(n+1), time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path[strings.LastIndex(path, ".")+1:] + " value")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(n + 1))
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path, n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), fmt.Sprint(path, i), n+i)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), fmt.Sprint(path, i), n+i)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, path+".key", n)
		fill(t, value, path, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			require.True(t, field.IsExported(), "%s.%s would not be stored", path, field.Name)
			require.NotEqual(t, "-", field.Tag.Get("json"), "%s.%s would not be stored", path, field.Name)
			require.NotEmpty(t, field.Tag.Get("json"), "%s.%s needs a json tag with a name", path, field.Name)
			fill(t, v.Field(i), path+"."+field.Name, n+i)
		}
	default:
		t.Fatalf("%s: events cannot have a %s", path, v.Type())
	}
}
