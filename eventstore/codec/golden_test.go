package codec_test

import (
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

// TestGoldenPayloads compares, byte for byte, what the codec writes with what it
// wrote when the event was introduced. A difference means that stored events can no
// longer be read as they were meant: register an upcaster, which gives the event a
// new stored name, and run the test with -update, which adds files but changes none.
func TestGoldenPayloads(t *testing.T) {
	t.Parallel()
	c := codec.Events()
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

// TestEveryGoldenPayloadIsReadable reads every shape ever stored: it fits the schema of
// its version, and what it is lifted to fits the schema of the newest.
func TestEveryGoldenPayloadIsReadable(t *testing.T) {
	t.Parallel()
	c := codec.Events()
	require.Equal(t, storedNames(t, schemaDir), storedNames(t, goldenDir), "of every version there is a schema and a payload")
	for _, entry := range c.Registry() {
		newest := compileSchema(t, entry.Stored[len(entry.Stored)-1])
		for _, stored := range entry.Stored {
			data, err := os.ReadFile(filepath.Join(goldenDir, stored+".json"))
			require.NoError(t, err, "every version ever stored has a payload")
			require.NoError(t, validate(t, compileSchema(t, stored), data), stored)

			event, err := c.Unmarshal(stored, data)
			require.NoError(t, err, stored)
			_, lifted, err := c.Marshal(event)
			require.NoError(t, err, stored)
			require.NoError(t, validate(t, newest, lifted), "%s lifted to %s", stored, lifted)
		}
	}
}

// storedNames are the stored names that a directory has files of.
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

// fill sets every field that JSON can carry to a value other than its zero, made
// from its path, so that a golden payload shows each field and a decoded event can
// be compared.
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
			require.NotEmpty(t, field.Tag.Get("json"), "%s.%s needs a stored name of its own", path, field.Name)
			fill(t, v.Field(i), path+"."+field.Name, n+i)
		}
	default:
		t.Fatalf("%s: events cannot hold a %s", path, v.Type())
	}
}
