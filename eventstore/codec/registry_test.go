package codec_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/codec"
)

// TestStoredShapesNeverChange compares what this program stores with the schemas that
// were committed when each event and version was introduced.
func TestStoredShapesNeverChange(t *testing.T) {
	t.Parallel()
	missing, err := codec.Events().CheckSchemas(os.DirFS(schemaDir))
	require.NoError(t, err)
	require.Empty(t, missing, "run make generate and commit the new schemas")
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	c := codec.Events()
	for _, e := range c.Registry() {
		require.Equal(t, e.Name, e.Stored[0])
		require.Equal(t, c.Type(e.Name), e.Type)
	}
	require.Subset(t, c.Readable(), c.Names(), "what this release writes, it reads")
}

// event is an event whose shape S a test changes.
type event[S any] struct {
	Body S `json:"body"`
}

func (event[S]) EventType() string { return "test.event" }

func shape[S any](upcasters ...codec.Upcaster) codec.Registration {
	return codec.Register[event[S]]("test.event", upcasters...)
}

func same(old json.RawMessage) (json.RawMessage, error) { return old, nil }

type member struct {
	Deep string `json:"deep"`
	Max  *int   `json:"max"`
}

type original struct {
	ID    string            `json:"id"`
	Count int               `json:"count"`
	Note  string            `json:"note,omitempty"`
	Tags  []member          `json:"tags,omitempty"`
	Named map[string]member `json:"named,omitempty"`
}

// committed returns the schemas of a codec, as catalog writes them.
func committed(t *testing.T, c *codec.Codec) fstest.MapFS {
	t.Helper()
	dir := fstest.MapFS{}
	for _, stored := range c.Names() {
		schema, err := c.Schema(stored)
		require.NoError(t, err)
		dir[stored+".json"] = &fstest.MapFile{Data: schema}
	}
	return dir
}

// TestAChangedShapeIsRefused: every change of a stored shape without a new version is found and described.
func TestAChangedShapeIsRefused(t *testing.T) {
	t.Parallel()
	dir := committed(t, codec.New(shape[original]()))
	for name, tt := range map[string]struct {
		now  codec.Registration
		want []string
	}{
		"field added": {
			now: shape[struct {
				ID    string            `json:"id"`
				Count int               `json:"count"`
				Note  string            `json:"note,omitempty"`
				Tags  []member          `json:"tags,omitempty"`
				Named map[string]member `json:"named,omitempty"`
				More  *struct {
					Deep string `json:"deep"`
				} `json:"more,omitempty"`
			}](),
			want: []string{"field body.more (object, optional) is new"},
		},
		"fields removed": {
			now: shape[struct {
				ID    string            `json:"id"`
				Count int               `json:"count"`
				Named map[string]member `json:"named,omitempty"`
			}](),
			want: []string{"field body.note (string, optional) is gone", "field body.tags (list, optional) is gone"},
		},
		"field renamed": {
			now: shape[struct {
				ID    string            `json:"id"`
				Total int               `json:"total"`
				Note  string            `json:"note,omitempty"`
				Tags  []member          `json:"tags,omitempty"`
				Named map[string]member `json:"named,omitempty"`
			}](),
			want: []string{"field body.count (integer) is gone", "field body.total (integer) is new"},
		},
		"types changed": {
			now: shape[struct {
				ID    time.Time           `json:"id"`
				Count float64             `json:"count"`
				Note  string              `json:"note,omitempty"`
				Tags  map[string]member   `json:"tags,omitempty"`
				Named map[string][1]uint8 `json:"named,omitempty"`
			}](),
			want: []string{
				"field body.count was integer and is number",
				"field body.id was string and is string (date-time)",
				"field body.named{} was object and is list (minItems 1) (maxItems 1)",
				"field body.named{}.deep (string) is gone",
				"field body.named{}.max (integer or null) is gone",
				"field body.tags was list, optional and is map, optional",
				"field body.tags[] (object) is gone",
				"field body.named{}[] (integer (minimum 0)) is new",
				"field body.tags{} (object) is new",
			},
		},
		"omitempty dropped, and added": {
			now: shape[struct {
				ID    string            `json:"id"`
				Count int               `json:"count,omitempty"`
				Note  string            `json:"note"`
				Tags  []member          `json:"tags"`
				Named map[string]member `json:"named,omitempty"`
			}](),
			want: []string{
				"field body.count was integer and is integer, optional",
				"field body.note was string, optional and is string",
				"field body.tags was list, optional and is list or null",
			},
		},
		"changed within": {
			now: shape[struct {
				ID    string `json:"id"`
				Count int    `json:"count"`
				Note  string `json:"note,omitempty"`
				Tags  []struct {
					Deep string `json:"deep,omitempty"`
					Max  int    `json:"max"`
				} `json:"tags,omitempty"`
				Named map[string]struct {
					Deep string `json:"deep"`
					Max  *int   `json:"max"`
					More bool   `json:"more"`
				} `json:"named,omitempty"`
			}](),
			want: []string{
				"field body.tags[].deep was string and is string, optional",
				"field body.tags[].max was integer or null and is integer",
				"field body.named{}.more (boolean) is new",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := codec.New(tt.now).CheckSchemas(dir)
			var changed *codec.ShapeError
			require.ErrorAs(t, err, &changed)
			require.Equal(t, "test.event", changed.Stored)
			require.Empty(t, cmp.Diff(tt.want, changed.Differences))
			for _, part := range append(tt.want, "the shape of test.event differs", "from version 1 to 2", "test.event@2") {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestChangesThatKeepTheShape(t *testing.T) {
	t.Parallel()
	dir := committed(t, codec.New(shape[original]()))
	type text string
	missing, err := codec.New(shape[struct {
		Named map[text]member `json:"named,omitempty"`
		Total int64           `json:"count"` // another order, other Go names and types of the same JSON
		ID    text            `json:"id"`
		Note  *string         `json:"note,omitempty"`
		Tags  []member        `json:"tags,omitempty"`
	}]()).CheckSchemas(dir)
	require.NoError(t, err)
	require.Empty(t, missing)
}

func TestANewVersionMayHaveAnotherShape(t *testing.T) {
	t.Parallel()
	dir := committed(t, codec.New(shape[original]()))
	second := codec.New(shape[struct{}](same))
	missing, err := second.CheckSchemas(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"test.event@2"}, missing)

	both := committed(t, second)
	both["test.event.json"] = dir["test.event.json"]
	missing, err = second.CheckSchemas(both)
	require.NoError(t, err)
	require.Empty(t, missing)

	_, err = codec.New(shape[original](same)).CheckSchemas(both)
	var changed *codec.ShapeError
	require.ErrorAs(t, err, &changed)
	require.Equal(t, "test.event@2", changed.Stored)
	require.ErrorContains(t, err, "from version 2 to 3")
}

func TestSchemasAreNotLost(t *testing.T) {
	t.Parallel()
	first := committed(t, codec.New(shape[original]()))
	edited := fstest.MapFS{"test.event.json": {Data: []byte(strings.Replace(
		string(first["test.event.json"].Data), `"title": "test.event"`, `"title": "my event"`, 1))}}
	for name, tt := range map[string]struct {
		codec *codec.Codec
		dir   fstest.MapFS
		want  string
	}{
		"of an older version":  {codec.New(shape[original](same)), fstest.MapFS{}, "the schema of test.event, which the log may hold"},
		"edited by hand":       {codec.New(shape[original]()), edited, "the schema file differs"},
		"not JSON":             {codec.New(shape[original]()), fstest.MapFS{"test.event.json": {Data: []byte("{")}}, "the committed schema of test.event"},
		"of a gone event":      {codec.New(), first, "test.event has a schema but is not registered"},
		"of a version too new": {codec.New(), fstest.MapFS{"test.event@2.json": {}}, "test.event@2 has a schema but is not registered"},
	} {
		_, err := tt.codec.CheckSchemas(tt.dir)
		require.ErrorContains(t, err, tt.want, name)
	}
}
