package edge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/intake/egress"
)

// shippedContract is the contract that the program serves.
func shippedContract(t testing.TB) *Contract {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "openapi.yaml"))
	require.NoError(t, err)
	c, err := LoadContract(file)
	require.NoError(t, err)
	return c
}

// bodyEdge returns an edge that can only check bodies.
func bodyEdge(t testing.TB) *Edge {
	t.Helper()
	c := shippedContract(t)
	client, err := egress.New(egress.Options{})
	require.NoError(t, err)
	return &Edge{Options: Options{Targets: client, Contract: c}}
}

// checked validates a body.
func (e *Edge) checked(op *operation, raw []byte) ([]byte, error) {
	v := &verdict{}
	value, given := op.parseBody(raw, v)
	if !given {
		return nil, v.err()
	}
	body, err := e.checkBody(op, value, v)
	if err == nil {
		err = v.err()
	}
	return body, err
}

// v returns a violation without a message.
func v(param string, code fault.ViolationCode) fault.Violation {
	return fault.Violation{Param: param, Code: code}
}

// many returns an object with n members.
func many(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%d": "v"`, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

type badBody struct {
	body  string
	code  fault.Code
	param string
	want  []fault.Violation
}

func (b badBody) check(t *testing.T, e *Edge, op string) {
	t.Helper()
	_, err := e.checked(e.Contract.operations[op], []byte(b.body))
	f := fault.Of(err)
	require.NotNil(t, f, "%v", err)
	require.Equal(t, b.code, f.Code)
	require.Equal(t, b.param, f.Param)
	require.Empty(t, cmp.Diff(b.want, f.Violations, cmpopts.IgnoreFields(fault.Violation{}, "Message")))
	for _, violation := range f.Violations {
		require.NotEmpty(t, violation.Message, violation.Param)
	}
}

func TestCreateVideoBodyIsRefused(t *testing.T) {
	t.Parallel()
	const failed = fault.ValidationFailed
	long := strings.Repeat("é", 256)
	tests := map[string]badBody{
		"malformed":       {body: `{"content_type":`, code: failed, want: []fault.Violation{v("", fault.Format)}},
		"trailing":        {body: `{"content_type": "video/mp4"} x`, code: failed, want: []fault.Violation{v("", fault.Format)}},
		"not an object":   {body: `["video/mp4"]`, code: failed, want: []fault.Violation{v("", fault.Type)}},
		"null":            {body: `null`, code: failed, want: []fault.Violation{v("", fault.Type)}},
		"no mode":         {body: `{}`, code: failed, want: []fault.Violation{v("content_type", fault.Required)}},
		"unknown field":   {body: `{"content_type": "video/mp4", "size": 1}`, code: failed, want: []fault.Violation{v("size", fault.UnknownField)}},
		"unknown type":    {body: `{"content_type": "video/webm"}`, code: failed, want: []fault.Violation{v("content_type", fault.Enum)}},
		"type in capital": {body: `{"content_type": "Video/MP4"}`, code: failed, want: []fault.Violation{v("content_type", fault.Enum)}},
		"null type":       {body: `{"content_type": null}`, code: failed, want: []fault.Violation{v("content_type", fault.Required)}},
		"size as text":    {body: `{"content_type": "video/mp4", "size_bytes": "1"}`, code: failed, want: []fault.Violation{v("size_bytes", fault.Type)}},
		"size a fraction": {body: `{"content_type": "video/mp4", "size_bytes": 1.5}`, code: failed, want: []fault.Violation{v("size_bytes", fault.Type)}},
		"size zero":       {body: `{"content_type": "video/mp4", "size_bytes": 0}`, code: failed, want: []fault.Violation{v("size_bytes", fault.Range)}},
		"size negative":   {body: `{"content_type": "video/mp4", "size_bytes": -1}`, code: failed, want: []fault.Violation{v("size_bytes", fault.Range)}},
		"2 GiB and 1": {
			body: `{"content_type": "video/mp4", "size_bytes": 2147483649}`, code: fault.VideoTooLarge, param: "size_bytes",
			want: []fault.Violation{v("size_bytes", fault.Range)},
		},
		"size beyond int64": {
			body: `{"content_type": "video/mp4", "size_bytes": 1e30}`, code: fault.VideoTooLarge, param: "size_bytes",
			want: []fault.Violation{v("size_bytes", fault.Range)},
		},
		"filename too long": {body: `{"content_type": "video/mp4", "filename": "` + long + `"}`, code: failed, want: []fault.Violation{v("filename", fault.Length)}},
		"filename with U+0000": {
			body: `{"content_type": "video/mp4", "filename": "a\u0000b"}`, code: failed, want: []fault.Violation{v("filename", fault.Format)},
		},
		"field twice": {
			body: `{"content_type": "video/mp4", "content_type": "video/mp4"}`, code: failed, want: []fault.Violation{v("content_type", fault.Exclusive)},
		},
		"both modes": {
			body: `{"url": "https://example.com/a.mp4", "filename": "a", "size_bytes": 1, "content_type": "video/mp4"}`, code: failed,
			want: []fault.Violation{v("content_type", fault.Exclusive), v("filename", fault.Exclusive), v("size_bytes", fault.Exclusive)},
		},
		"http":             {body: `{"url": "http://example.com/a.mp4"}`, code: fault.URLForbidden, param: "url", want: []fault.Violation{v("url", fault.Format)}},
		"another port":     {body: `{"url": "https://example.com:8443/a.mp4"}`, code: fault.URLForbidden, param: "url", want: []fault.Violation{v("url", fault.Format)}},
		"loopback":         {body: `{"url": "https://127.0.0.1/a.mp4"}`, code: fault.URLForbidden, param: "url", want: []fault.Violation{v("url", fault.Format)}},
		"loopback as one":  {body: `{"url": "https://2130706433/a.mp4"}`, code: fault.URLForbidden, param: "url", want: []fault.Violation{v("url", fault.Format)}},
		"metadata service": {body: `{"url": "https://169.254.169.254/latest"}`, code: fault.URLForbidden, param: "url", want: []fault.Violation{v("url", fault.Format)}},
		"no URL":           {body: `{"url": "a.mp4"}`, code: failed, want: []fault.Violation{v("url", fault.Format)}},
		"empty URL":        {body: `{"url": ""}`, code: failed, want: []fault.Violation{v("url", fault.Length)}},
		"URL too long":     {body: `{"url": "https://example.com/` + strings.Repeat("a", 2048) + `"}`, code: failed, want: []fault.Violation{v("url", fault.Length)}},
		"URL a list":       {body: `{"url": ["https://example.com"]}`, code: failed, want: []fault.Violation{v("url", fault.Type)}},
		"metadata a list":  {body: `{"content_type": "video/mp4", "metadata": []}`, code: failed, want: []fault.Violation{v("metadata", fault.Type)}},
		"metadata number":  {body: `{"content_type": "video/mp4", "metadata": {"a": 1}}`, code: failed, want: []fault.Violation{v("metadata.a", fault.Type)}},
		"metadata key":     {body: `{"content_type": "video/mp4", "metadata": {"a b": "x"}}`, code: failed, want: []fault.Violation{v("metadata.a b", fault.Format)}},
		"metadata no key":  {body: `{"content_type": "video/mp4", "metadata": {"": "x"}}`, code: failed, want: []fault.Violation{v("metadata.", fault.Format)}},
		"metadata long key": {
			body: `{"content_type": "video/mp4", "metadata": {"` + strings.Repeat("k", 41) + `": "x"}}`, code: failed,
			want: []fault.Violation{v("metadata."+strings.Repeat("k", 41), fault.Length)},
		},
		"metadata long value": {
			body: `{"content_type": "video/mp4", "metadata": {"a": "` + strings.Repeat("x", 501) + `"}}`, code: failed,
			want: []fault.Violation{v("metadata.a", fault.Length)},
		},
		"metadata of 17": {body: `{"content_type": "video/mp4", "metadata": ` + many(17) + `}`, code: failed, want: []fault.Violation{v("metadata", fault.Length)}},
		"everything at once": {
			body: `{"content_type": 5, "filename": "", "size_bytes": true, "extra": 1, "metadata": {"a b": 2}}`, code: failed,
			want: []fault.Violation{
				v("content_type", fault.Type), v("extra", fault.UnknownField), v("filename", fault.Length),
				v("metadata.a b", fault.Format), v("metadata.a b", fault.Type), v("size_bytes", fault.Type),
			},
		},
		"a named code beside others": {
			body: `{"content_type": "video/mp4", "size_bytes": 2147483649, "extra": 1}`, code: fault.VideoTooLarge, param: "size_bytes",
			want: []fault.Violation{v("extra", fault.UnknownField), v("size_bytes", fault.Range)},
		},
	}
	e := bodyEdge(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, e, "POST /v1/videos")
		})
	}
}

func TestCreateAnalysisBodyIsRefused(t *testing.T) {
	t.Parallel()
	const failed = fault.ValidationFailed
	const q = `{"schema_version": 1, "prompt_intent": "presence", "query_type": "object", "subjects": [{"id": "s1", "term": "dog"}], "search_terms": ["dog"]}`
	with := func(rest string) string { return `{"video_id": "video_x", ` + rest + `}` }
	tests := map[string]badBody{
		"nothing": {
			body: `{}`, code: fault.PromptEmpty, param: "prompt",
			want: []fault.Violation{v("prompt", fault.Required), v("video_id", fault.Required)},
		},
		"no video":        {body: `{"prompt": "Is there a dog?"}`, code: failed, want: []fault.Violation{v("video_id", fault.Required)}},
		"video a number":  {body: `{"video_id": 1, "prompt": "Is there a dog?"}`, code: failed, want: []fault.Violation{v("video_id", fault.Type)}},
		"no question":     {body: `{"video_id": "video_x"}`, code: fault.PromptEmpty, param: "prompt", want: []fault.Violation{v("prompt", fault.Required)}},
		"empty prompt":    {body: with(`"prompt": ""`), code: fault.PromptEmpty, param: "prompt", want: []fault.Violation{v("prompt", fault.Length)}},
		"blank prompt":    {body: with(`"prompt": " \t\u00a0"`), code: fault.PromptEmpty, param: "prompt", want: []fault.Violation{v("prompt", fault.Length)}},
		"prompt null":     {body: with(`"prompt": null`), code: fault.PromptEmpty, param: "prompt", want: []fault.Violation{v("prompt", fault.Required)}},
		"prompt a number": {body: with(`"prompt": 7`), code: failed, want: []fault.Violation{v("prompt", fault.Type)}},
		"prompt of 2001": {
			body: with(`"prompt": "` + strings.Repeat("é", 2001) + `"`), code: fault.PromptTooLong, param: "prompt",
			want: []fault.Violation{v("prompt", fault.Length)},
		},
		"both questions": {body: with(`"prompt": "Is there a dog?", "query": ` + q), code: failed, want: []fault.Violation{v("query", fault.Exclusive)}},
		"query a text":   {body: with(`"query": "dog"`), code: fault.QueryInvalid, param: "query", want: []fault.Violation{v("query", fault.Type)}},
		"query null":     {body: with(`"query": null`), code: fault.PromptEmpty, param: "prompt", want: []fault.Violation{v("prompt", fault.Required)}},
		"query incomplete": {
			body: with(`"query": {"schema_version": 1}`), code: fault.QueryInvalid, param: "query.prompt_intent",
			want: []fault.Violation{
				v("query.prompt_intent", fault.Required), v("query.query_type", fault.Required), v("query.search_terms", fault.Required),
				v("query.subjects", fault.Required),
			},
		},
		"query of version 2": {
			body: with(`"query": ` + strings.Replace(q, `"schema_version": 1`, `"schema_version": 2`, 1)), code: fault.QueryInvalid,
			param: "query.schema_version", want: []fault.Violation{v("query.schema_version", fault.Enum)},
		},
		"query with an unknown field": {
			body: with(`"query": ` + strings.Replace(q, `"term": "dog"`, `"term": "dog", "colour": "red"`, 1)), code: fault.QueryInvalid,
			param: "query.subjects.0.colour", want: []fault.Violation{v("query.subjects.0.colour", fault.UnknownField)},
		},
		"query that contradicts itself": {
			body: with(`"query": ` + strings.Replace(q, `"search_terms": ["dog"]`, `"search_terms": ["cat"]`, 1)), code: fault.QueryInvalid,
			param: "query.search_terms", want: []fault.Violation{v("query.search_terms", fault.Format)},
		},
		"options unknown":   {body: with(`"prompt": "x", "options": {"fast": true}`), code: failed, want: []fault.Violation{v("options.fast", fault.UnknownField)}},
		"narrative a text":  {body: with(`"prompt": "x", "options": {"narrative": "yes"}`), code: failed, want: []fault.Violation{v("options.narrative", fault.Type)}},
		"validate_only 1":   {body: with(`"prompt": "x", "validate_only": 1`), code: failed, want: []fault.Violation{v("validate_only", fault.Type)}},
		"model empty":       {body: with(`"prompt": "x", "model": ""`), code: failed, want: []fault.Violation{v("model", fault.Length)}},
		"a field of batch":  {body: with(`"prompt": "x", "prompts": ["y"]`), code: failed, want: []fault.Violation{v("prompts", fault.UnknownField)}},
		"metadata not text": {body: with(`"prompt": "x", "metadata": {"a": {}}`), code: failed, want: []fault.Violation{v("metadata.a", fault.Type)}},
		"too deep":          {body: with(`"prompt": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70)), code: failed, want: []fault.Violation{v("", fault.Format)}},
	}
	e := bodyEdge(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, e, "POST /v1/analyses")
		})
	}
}

func TestBodyIsAccepted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ op, body, want string }{
		"upload, least":     {"POST /v1/videos", `{"content_type": "video/mp4"}`, `{"content_type":"video/mp4"}`},
		"2 GiB":             {"POST /v1/videos", `{"content_type": "video/mp4", "size_bytes": 2147483648}`, `{"content_type":"video/mp4","size_bytes":2147483648}`},
		"whole, in a float": {"POST /v1/videos", `{"content_type": "video/mp4", "size_bytes": 1.024e3}`, `{"content_type":"video/mp4","size_bytes":1024}`},
		"url":               {"POST /v1/videos", `{"url": "https://example.com/a.mp4"}`, `{"url":"https://example.com/a.mp4"}`},
		"url on 443":        {"POST /v1/videos", `{"url": "https://example.com:443/a.mp4"}`, `{"url":"https://example.com:443/a.mp4"}`},
		"16 metadata":       {"POST /v1/videos", `{"content_type": "video/mp4", "metadata": ` + many(16) + `}`, ""},
		"prompt of 2000":    {"POST /v1/analyses", `{"video_id": "v", "prompt": "` + strings.Repeat("é", 2000) + `"}`, ""},
	}
	e := bodyEdge(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := e.checked(e.Contract.operations[tt.op], []byte(tt.body))
			require.NoError(t, err)
			if tt.want != "" {
				require.Equal(t, tt.want, string(got))
			}
		})
	}
}

func TestReceive(t *testing.T) {
	t.Parallel()
	const files = "multipart/form-data; boundary=x"
	tests := map[string]struct {
		contentType, body string
		length            int64
		want              fault.Code
	}{
		"json":                 {"application/json", `{}`, 0, ""},
		"json with charset":    {"Application/JSON; charset=UTF-8", `{}`, 0, ""},
		"the largest":          {"application/json", strings.Repeat(" ", maxBody), 0, ""},
		"nothing":              {"", "", 0, ""},
		"too large":            {"application/json", strings.Repeat(" ", maxBody+1), 0, fault.PayloadTooLarge},
		"a form":               {"application/x-www-form-urlencoded", "a=b", 0, fault.UnsupportedMediaType},
		"a large form":         {"application/x-www-form-urlencoded", strings.Repeat(" ", maxBody+1), 0, fault.UnsupportedMediaType},
		"multipart":            {files, "--x--", 0, fault.UnsupportedMediaType},
		"the largest of those": {files, "--x--", maxMultipart, fault.UnsupportedMediaType},
		"a larger one":         {files, "--x--", maxMultipart + 1, fault.PayloadTooLarge},
		"no type":              {"", `{}`, 0, fault.UnsupportedMediaType},
		"another charset":      {"application/json; charset=latin1", `{}`, 0, fault.UnsupportedMediaType},
	}
	op := bodyEdge(t).Contract.operations["POST /v1/videos"]
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/v1/videos", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.contentType)
			if tt.length > 0 {
				r.ContentLength = tt.length
			}
			got, err := op.receive(httptest.NewRecorder(), r)
			if tt.want != "" {
				require.True(t, fault.Has(err, tt.want), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.body, string(got))
		})
	}
}

func TestBodiesThatMayBeLeftOut(t *testing.T) {
	t.Parallel()
	const needed, optional, none = "POST /v1/videos", "POST /v1/keys/upgrade", "POST /v1/videos/{id}/complete"
	tests := map[string]struct {
		op, body string
		taken    bool
		want     fault.ViolationCode
	}{
		"needed, and not there":   {needed, "", false, fault.Required},
		"optional, and not there": {optional, "", true, ""},
		"optional, and empty":     {optional, "{}", true, ""},
		"optional, and wrong":     {optional, `{"forge_token": 1}`, false, fault.Type},
		"optional, and no JSON":   {optional, ` `, false, fault.Format},
		"none, and not there":     {none, "", true, ""},
		"none, and empty":         {none, "{\r\n\t }", true, ""},
		"none, and spaces":        {none, " \n", true, ""},
		"none, and a member":      {none, `{"a": 1}`, false, fault.Format},
		"none, and null":          {none, `null`, false, fault.Format},
		"none, and a form":        {none, `a=b`, false, fault.Format},
	}
	e := bodyEdge(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := e.checked(e.Contract.operations[tt.op], []byte(tt.body))
			if tt.taken {
				require.NoError(t, err)
				return
			}
			require.NotNil(t, fault.Of(err), "%v", err)
			require.Equal(t, tt.want, fault.Of(err).Violations[0].Code)
		})
	}
}

// FuzzBodies sends any bytes to every operation with a body. The result is a body that
// encoding/json decodes, or a fault of the registry whose violations have a code.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{"content_type": "video/mp4", "size_bytes": 1e3, "metadata": {"a b": 1}}`, `{"url": "https://[::1]/"}`,
		`{"video_id": "v", "prompt": "Is there a dog?"}`, `{"video_id": "v", "query": {"subjects": [{"id": "s1"}]}}`, `null`, `[1e999]`,
	} {
		f.Add([]byte(seed))
	}
	e := bodyEdge(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, op := range e.Contract.operations {
			got, err := e.checked(op, raw)
			if err == nil && got == nil {
				continue // no body, or an optional one
			}
			if err == nil {
				var body map[string]any
				if err := json.Unmarshal(got, &body); err != nil {
					t.Fatalf("%s accepted %q as %q: %v", name, raw, got, err)
				}
				continue
			}
			verdict := fault.Of(err)
			if verdict == nil || fault.Lookup(verdict.Code).Status != http.StatusBadRequest || len(verdict.Violations) == 0 {
				t.Fatalf("%s refused %q with %v", name, raw, err)
			}
			for _, violation := range verdict.Violations {
				if violation.Code == "" || violation.Message == "" {
					t.Fatalf("%s refused %q with %+v", name, raw, violation)
				}
			}
		}
	})
}
