package mcp

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"vqa/domain/fault"
)

// subject is an endpoint without an edge. Only its descriptions are used.
func subject() *endpoint {
	return &endpoint{Options: Options{
		PublicURL: "https://video.example", PricePerSecondCents: decimal.RequireFromString("0.5"), BatchDiscountPct: 50, Log: slog.New(slog.DiscardHandler),
	}}
}

// names are the tools of the contract (docs/contract.md#agent-tools).
var names = []string{
	"create_video_from_url", "get_video", "list_videos", "create_analysis", "validate_analysis", "create_analysis_batch", "get_analysis", "wait_for_analysis",
	"list_video_analyses", "rerun_analysis", "list_models", "get_usage", "get_credits", "get_test_fixture",
}

// document reads the contract of the HTTP interface. Anchors are resolved.
func document(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../httpapi/openapi.yaml")
	require.NoError(t, err)
	var tree any
	require.NoError(t, yaml.Unmarshal(raw, &tree))
	raw, err = json.Marshal(tree)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// at follows a path of members. A reference leads to what it names.
func at(t *testing.T, root, v any, path ...string) any {
	t.Helper()
	for _, name := range path {
		v = resolve(t, root, v)
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return resolve(t, root, v)
}

func resolve(t *testing.T, root, v any) any {
	t.Helper()
	o, _ := v.(map[string]any)
	reference, ok := o["$ref"].(string)
	if !ok {
		return v
	}
	return at(t, root, root, strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
}

// parameters returns the parameters of an operation by their place and name.
func parameters(t *testing.T, root map[string]any, method, path string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	item := at(t, root, root, "paths", path)
	for _, holder := range []any{item, at(t, root, item, strings.ToLower(method))} {
		list, _ := at(t, root, holder, "parameters").([]any)
		for _, p := range list {
			described := resolve(t, root, p).(map[string]any)
			out[described["in"].(string)+" "+described["name"].(string)] = described
		}
	}
	return out
}

// TestEachToolIsAnOperation holds the table of tools and the contract of the HTTP interface together.
func TestEachToolIsAnOperation(t *testing.T) {
	t.Parallel()
	root := document(t)
	var got []string
	for _, tool := range subject().table() {
		got = append(got, tool.name)
		operation := at(t, root, root, "paths", tool.path, strings.ToLower(tool.method))
		require.NotNil(t, operation, "%s: %s %s", tool.name, tool.method, tool.path)
		require.Equal(t, tool.operation, operation.(map[string]any)["operationId"], tool.name)
		known := parameters(t, root, tool.method, tool.path)
		body := at(t, root, operation, "requestBody", "content", "application/json", "schema")
		for _, a := range tool.arguments {
			var described any
			switch a.place {
			case inPath:
				described = at(t, root, known["path "+a.field], "schema")
				require.Contains(t, tool.path, "{"+a.field+"}")
				require.True(t, a.required)
			case inQuery:
				described = at(t, root, known["query "+a.field], "schema")
			case inHeader:
				described = at(t, root, known["header "+a.field], "schema")
			case inBody:
				var path []string
				for name := range strings.SplitSeq(a.field, ".") {
					path = append(path, "properties", name)
				}
				described = at(t, root, body, path...)
			case own:
				continue
			}
			require.NotNil(t, described, "%s has no %s", tool.operation, a.field)
			types, several := described.(map[string]any)["type"].([]any)
			if !several {
				types = []any{described.(map[string]any)["type"]}
			}
			if types[0] != nil {
				require.Contains(t, types, a.schema["type"], "%s of %s", a.name, tool.name)
			}
		}
		required, _ := at(t, root, body, "required").([]any)
		for _, field := range required {
			i := slices.IndexFunc(tool.arguments, func(a argument) bool { return a.place == inBody && a.field == field })
			require.True(t, i >= 0 && tool.arguments[i].required, "%s requires %s", tool.operation, field)
		}
		if _, accepts := known["header Idempotency-Key"]; accepts && tool.effect != reads {
			require.NotNil(t, tool.argument("idempotency_key"), tool.name)
		}
	}
	require.ElementsMatch(t, names, got)
}

// TestToolsAreDescribedForModels checks what a model reads about each tool.
func TestToolsAreDescribedForModels(t *testing.T) {
	t.Parallel()
	s := subject()
	for _, tool := range s.table() {
		shown := tool.described()
		require.NotEmpty(t, shown.Title)
		require.Equal(t, shown.Title, shown.Annotations.Title)
		require.NotNil(t, shown.Annotations.DestructiveHint)
		require.NotNil(t, shown.Annotations.OpenWorldHint)
		require.Equal(t, tool.method == "GET" || tool.name == "validate_analysis", shown.Annotations.ReadOnlyHint, tool.name)
		require.Greater(t, len(shown.Description), 60, tool.name)
		require.Less(t, len(shown.Description), 600, tool.name)
		if strings.HasPrefix(tool.name, "create_analysis") || tool.name == "validate_analysis" {
			require.Contains(t, shown.Description, "One credit is one second of video and costs $0.005.")
		} else if tool.name != "create_video_from_url" && tool.name != "get_test_fixture" {
			require.Contains(t, shown.Description, "Free", tool.name)
		}
		for _, a := range tool.arguments {
			require.NotEmpty(t, a.schema["description"], "%s of %s", a.name, tool.name)
		}
		for _, described := range []any{shown.InputSchema, shown.OutputSchema} {
			compiled(t, described)
			requireOpen(t, tool.name, described)
		}
	}
	require.LessOrEqual(t, len(strings.Fields(s.instructions())), 150)
	all := s.instructions()
	for _, step := range steps {
		all += "\n" + step
	}
	for _, tool := range s.table() {
		all += "\n" + tool.description
	}
	for _, name := range regexp.MustCompile(`\b(?:create|get|list|wait|validate|rerun)_[a-z_]+\b`).FindAllString(all, -1) {
		if name == "rerun_eligible" {
			continue // a member of an analysis
		}
		require.Contains(t, names, name, "a text names an unknown tool")
	}
}

// TestSchemasAreThoseOfTheContract: each member that a schema describes is one of the resource.
func TestSchemasAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	root := document(t)
	var within func(path string, s schema, resource any)
	within = func(path string, s schema, resource any) {
		if choices, ok := s["anyOf"].([]any); ok {
			s = choices[0].(schema)
		}
		if items, ok := s["items"].(schema); ok {
			within(path+"[]", items, at(t, root, resource, "items"))
		}
		properties, _ := s["properties"].(map[string]schema)
		for name, inner := range properties {
			member := at(t, root, resource, "properties", name)
			require.NotNil(t, member, "%s.%s", path, name)
			if choices, ok := member.(map[string]any)["anyOf"].([]any); ok {
				member = resolve(t, root, choices[0])
			}
			within(path+"."+name, inner, member)
		}
	}
	schemas := at(t, root, root, "components", "schemas")
	for name, s := range map[string]schema{"Video": videoSchema, "Analysis": analysisSchema} {
		within(name, s, at(t, root, schemas, name))
	}
	within("Analysis", briefSchema, at(t, root, schemas, "Analysis"))
}

func compiled(t *testing.T, described any) *jsonschema.Schema {
	t.Helper()
	raw, err := json.Marshal(described)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", value))
	out, err := c.Compile("schema.json")
	require.NoError(t, err)
	return out
}

// requireOpen requires that no object forbids further members, that no type is a list, and that no value
// is enumerated: each of these breaks a client when a member or a value is added.
func requireOpen(t *testing.T, tool string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	for _, closed := range []string{`"additionalProperties":false`, `"enum"`, `"type":[`, `"const"`} {
		require.NotContains(t, string(raw), closed, tool)
	}
}

func TestEachErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, entry := range fault.Registry() {
		p := newProblem(entry.Code, entry.Message)
		require.Greater(t, len(p.Next), 20, entry.Code)
		require.Equal(t, entry.Retryable, p.Retryable)
		if entry.Status != 0 {
			require.Equal(t, entry.Retryable && entry.Status != 400 && entry.Status != 422, strings.Contains(p.Next, "retry_after_s") || entry.Code == fault.ConcurrencyLimitExceeded, "%s: %s", entry.Code, p.Next)
		}
	}
	for code := range steps {
		require.Equal(t, code, fault.Lookup(code).Code, "an unknown code has a step")
	}
}

func TestOriginsAndHosts(t *testing.T) {
	t.Parallel()
	g := newGuard("https://Video.example", []string{"https://chat.example"})
	for origin, known := range map[string]bool{
		"https://chat.example": true, "https://Chat.example": true, "https://chat.example:8443": false, "https://x.chat.example": false,
		"https://video.example": true, "http://video.example": false, "https://video.example:8443": false, "https://video.example.evil": false,
		"http://localhost:6274": true, "http://127.0.0.1": true, "http://[::1]:80": true, "http://localhost.evil": false, "null": false,
		"file://localhost": false, "https://evil.example": false, "http://127.0.0.1.evil.example": false,
	} {
		require.Equal(t, known, g.knows(origin), origin)
	}
}

// TestServerDescription checks the description for the registry of servers.
func TestServerDescription(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("server.json")
	require.NoError(t, err)
	var d struct {
		Name, Description, Version string
		Remotes                    []struct{ Type, URL string }
	}
	require.NoError(t, json.Unmarshal(raw, &d))
	require.Regexp(t, `^[a-z0-9.-]+/[a-z0-9._-]+$`, d.Name)
	require.LessOrEqual(t, len(d.Description), 100, "the registry's limit")
	contract, err := os.ReadFile("../httpapi/openapi.yaml")
	require.NoError(t, err)
	require.Contains(t, string(contract), "version: "+d.Version)
	require.Equal(t, "streamable-http", d.Remotes[0].Type)
	require.Equal(t, "https://vqa.example/mcp", d.Remotes[0].URL)
}
