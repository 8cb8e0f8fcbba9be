package edge

import "testing"

// BenchmarkCheckBody measures the validation of a body: parsing, the schema of the contract and
// the rules of the operation.
func BenchmarkCheckBody(b *testing.B) {
	e := bodyEdge(b)
	for name, bench := range map[string]struct{ op, body string }{
		"video":    {"POST /v1/videos", `{"content_type": "video/mp4", "filename": "dog.mp4", "size_bytes": 5242880, "metadata": {"camera": "yard-1"}}`},
		"prompt":   {"POST /v1/analyses", `{"video_id": "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "prompt": "Is there a dog?"}`},
		"query":    {"POST /v1/analyses", `{"video_id": "v", "query": {"schema_version": 1, "prompt_intent": "presence", "query_type": "object", "subjects": [{"id": "s1", "term": "dog"}], "search_terms": ["dog"]}}`},
		"metadata": {"POST /v1/videos", `{"content_type": "video/mp4", "metadata": ` + many(16) + `}`},
	} {
		b.Run(name, func(b *testing.B) {
			op := e.Contract.operations[bench.op]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.checked(op, []byte(bench.body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
