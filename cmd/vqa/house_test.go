package main_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// importRule restricts what packages import outside their tests. Patterns are
// import paths; "p/..." means p and everything below it.
type importRule struct {
	name   string
	in     []string // packages with this rule
	except []string // exceptions among them
	only   []string // if set, the only allowed imports besides the standard library
	never  []string // always forbidden, also in the standard library
	why    string
}

// aggregates never import each other.
var aggregates = []string{"account", "credit", "video", "analysis", "stream", "webhook", "grant"}

// sql lists the packages that talk to a database.
var sql = []string{"database/sql/...", "github.com/jackc/pgx/...", "github.com/riverqueue/..."}

const (
	// scenarios is the given/when/then helper of the aggregates' tests.
	scenarios = "vqa/domain/internal/scenario"

	// painting draws the clips of tests.
	painting = "vqa/handlers/intake/demo/paint"

	watermill = "github.com/ThreeDotsLabs/..."
	chi       = "github.com/go-chi/..."
	pion      = "github.com/pion/..."
)

// importRules is the table of allowed imports. .golangci.yml repeats its core for editors.
var importRules = append([]importRule{
	{
		name: "domain is pure", in: []string{"vqa/domain/..."}, except: []string{scenarios, "vqa/domain/answer/predicate/document", "vqa/domain/query/vocabulary/document", "vqa/domain/query/vocabulary/wordnet/generate"},
		only:  []string{"vqa/domain/...", "github.com/oklog/ulid/v2", "github.com/shopspring/decimal"},
		never: []string{"context", "database/sql/...", "net", "net/http/...", "log/...", "os/...", "math/rand/...", "crypto/rand", "syscall"},
		why:   "rules must give the same result live, in replay and in a what-if: no clock, randomness, input or output",
	},
	{
		name: "scenarios are for tests", in: []string{"vqa/..."},
		never: []string{scenarios},
		why:   "it fails tests, which the program must not do",
	},
	{
		name: "drawing is for tests", in: []string{"vqa/..."}, except: []string{painting},
		never: []string{painting},
		why:   "the program brings its demo videos as files and draws nothing",
	},
	{
		name: "made-up ledgers are for tests", in: []string{"vqa/..."}, except: []string{"vqa/projections/ledger/internal/history"},
		never: []string{"vqa/projections/ledger/internal/history"},
		why:   "it writes to a log past the commands",
	},
	{
		name: "the witness without storage is for tests", in: []string{"vqa/..."}, except: []string{"vqa/handlers/witness/witnesstest"},
		never: []string{"vqa/handlers/witness/witnesstest"},
		why:   "it signs for every log of a key",
	},
	{
		name: "eventstore knows no rules and no readers", in: []string{"vqa/eventstore/..."},
		never: []string{"vqa/projections/...", "vqa/handlers/...", "vqa/streaming/...", "vqa/gpu/...", "vqa/cmd/...", chi, pion},
		why:   "the log outlives everything that reads it",
	},
	{
		name: "SQL and Watermill stay in their packages", in: []string{"vqa/eventstore/..."},
		except: []string{"vqa/eventstore/postgres", "vqa/eventstore/node", "vqa/eventstore/feed", "vqa/eventstore/embedded", "vqa/eventstore/storetest"},
		never:  append([]string{watermill}, sql...),
		why:    "the contract of the log must fit a store without a database",
	},
	{
		name: "embedded stands alone", in: []string{"vqa/eventstore/embedded"},
		never: []string{"vqa/..."},
		why:   "it runs a server and knows nothing of what is stored there",
	},
	{
		name: "the transparency log is pure", in: []string{"vqa/eventstore/translog"},
		only: []string{"golang.org/x/mod/sumdb/..."}, never: []string{"context", "net", "net/http/...", "log/...", "os/...", "math/rand/...", "crypto/rand"},
		why: "an auditor verifies with it, without our database and without a network",
	},
	{
		name: "projections read", in: []string{"vqa/projections/..."},
		never: []string{"vqa/handlers/...", "vqa/streaming/...", "vqa/gpu/...", "vqa/cmd/...", chi, pion},
		why:   "a projection folds events; it commands nothing and serves nobody",
	},
	{
		name: "handlers know no media stack and no engine", in: []string{"vqa/handlers/..."},
		never: []string{pion, "vqa/gpu/oip/...", "vqa/gpu/onnx/...", "vqa/gpu/worker/...", "vqa/gpu/fixture/...", "vqa/streaming/...", "vqa/cmd/..."},
		why:   "an engine is exchanged by configuration, in cmd",
	},
	{
		name: "no SQL in handlers", in: []string{"vqa/handlers/..."}, except: []string{"vqa/handlers/jobs/..."},
		never: sql,
		why:   "SQL text belongs to the log and to the projections; jobs hands the pool to River and chooses the jobs that it fetches",
	},
	{
		name: "routing stays at the edge", in: []string{"vqa/..."}, except: []string{"vqa/handlers/httpapi/..."},
		never: []string{chi},
		why:   "use cases must not depend on how a request came in",
	},
	{
		name: "the edge and the pages know no operations", in: []string{"vqa/handlers/httpapi/edge/...", "vqa/handlers/httpapi/pages/..."},
		never: []string{"vqa/handlers/httpapi"},
		why:   "operations use the edge and the pages, never the reverse",
	},
	{
		name: "tools are requests", in: []string{"vqa/handlers/mcp"},
		only: []string{
			"vqa/domain/fault", "vqa/handlers/httpapi/edge", "vqa/handlers/httpapi/api", "github.com/modelcontextprotocol/go-sdk/...", "github.com/shopspring/decimal",
		},
		why: "a tool that passes by the edge has other limits and errors than its operation",
	},
	{
		name: "the rules of OAuth are pure", in: []string{"vqa/handlers/oauth"},
		only: []string{"vqa/domain/...", "github.com/go-json-experiment/json/..."}, never: []string{"net", "net/http/...", "log/...", "os/...", "math/rand/...", "crypto/rand"},
		why: "each attack is refused by a function that a test calls",
	},
	{
		name: "one package speaks the agent protocol", in: []string{"vqa/..."}, except: []string{"vqa/handlers/mcp"},
		never: []string{"github.com/modelcontextprotocol/..."},
		why:   "operations must not depend on how a request came in",
	},
	{
		name: "sign-in uses commands and the edge", in: []string{"vqa/handlers/httpapi/signin"},
		only: []string{
			"vqa/domain/...", "vqa/handlers/command", "vqa/handlers/httpapi/edge", "vqa/handlers/httpapi/pages",
			"github.com/go-webauthn/webauthn/...",
		},
		why: "the pages of people have no other way to an account than commands with events",
	},
	{
		name: "pages know no requests", in: []string{"vqa/handlers/httpapi/pages/..."},
		never: []string{"vqa/handlers/httpapi/edge/...", "vqa/handlers/httpapi/api", "vqa/handlers/command/...", "vqa/projections/...", "net/http/...", chi},
		why:   "a page is rendered from the values that it shows, so that a test needs no server",
	},
	{
		name: "one package runs ffmpeg", in: []string{"vqa/handlers/...", "vqa/gpu/...", "vqa/streaming/..."},
		// forged writes broken files for tests; the others start Node and code generators.
		except: []string{"vqa/handlers/intake/ffmpeg/...", "vqa/handlers/intake/forged", "vqa/gpu/worker", "vqa/gpu/oip/wire/generate"},
		never:  []string{"os/exec"},
		why:    "a program that reads untrusted files gets its demuxer, protocols and limits from handlers/intake/ffmpeg",
	},
	{
		name: "streaming asks through its own interfaces", in: []string{"vqa/streaming/..."},
		never: append([]string{"vqa/eventstore/...", "vqa/projections/...", "vqa/handlers/...", "vqa/gpu/...", watermill, chi}, sql...),
		why:   "a live stream commands and analyses through small interfaces, so that it can be tested without a log",
	},
	{
		name: "assembly is pure", in: []string{"vqa/streaming/assemble"},
		only: []string{"github.com/pion/rtp/..."}, never: []string{"net", "log/...", "math/rand/..."},
		why: "tests run it on virtual time, over networks that they invent",
	},
	{
		name: "decoding knows no network", in: []string{"vqa/streaming/decode"},
		only: []string{"vqa/streaming/assemble"},
		why:  "it gets whole pictures, from WebRTC or from a test",
	},
	{
		name: "signaling knows no media", in: []string{"vqa/streaming/signal"},
		only: []string{"vqa/domain/...", "vqa/streaming/live", "vqa/streaming/message", "vqa/streaming/peer", "github.com/coder/websocket"},
		why:  "it connects clients with sessions; what a session does with them is the session's part",
	},
	{
		name: "messages know no socket and no session", in: []string{"vqa/streaming/message"},
		only: []string{"vqa/domain/...", "github.com/go-json-experiment/json/..."}, never: []string{"net", "net/http/...", "log/..."},
		why: "the session, the socket and clients share them",
	},
	{
		name: "recording knows no network", in: []string{"vqa/streaming/record"},
		only: []string{"vqa/streaming/assemble", "vqa/domain/stream", "vqa/domain/fault"}, never: []string{"net"},
		why: "it gets whole pictures, and passes them to a store and to ffmpeg",
	},
	{
		name: "gpu only infers", in: []string{"vqa/gpu/..."},
		never: append([]string{"vqa/eventstore/...", "vqa/projections/...", "vqa/handlers/...", "vqa/streaming/...", watermill, chi}, sql...),
		why:   "inference neither bills nor notifies nor stores",
	},
	{
		name: "an evaluation sees what a caller sees", in: []string{"vqa/cmd/vqa/internal/evaluate/..."},
		never: []string{"vqa/eventstore/...", "vqa/projections/...", "vqa/handlers/command/...", "vqa/handlers/jobs/...", "vqa/gpu/...", "vqa/streaming/..."},
		why:   "it measures the answers of the public API",
	},
	{
		name: "a build with faults is for tests", in: []string{"vqa/..."}, except: []string{"vqa/cmd/vqa/internal/faultbuild"},
		never: []string{"vqa/cmd/vqa/internal/faultbuild"},
		why:   "the program must not contain the means to break itself",
	},
	{
		name: "faultbuild stands alone", in: []string{"vqa/cmd/vqa/internal/faultbuild"},
		never: []string{"vqa/..."},
		why:   "it edits the standard library and knows nothing of the program",
	},
	{
		name: "finance prints what it is given", in: []string{"vqa/cmd/vqa/internal/finance"},
		never: append([]string{"vqa/eventstore/...", "vqa/handlers/...", "vqa/gpu/...", "vqa/streaming/..."}, sql...),
		why:   "reading the ledger is the projections' part",
	},
	{
		name: "the doctor commands nothing", in: []string{"vqa/cmd/vqa/internal/doctor"},
		never: []string{"vqa/handlers/command/...", "vqa/projections/...", "vqa/eventstore", "vqa/eventstore/postgres"},
		why:   "it examines an installation and writes nothing to its log",
	},
	{
		name: "terminal only prints", in: []string{"vqa/cmd/vqa/internal/terminal"},
		never: []string{"vqa/..."},
		why:   "how output looks does not depend on what is printed",
	},
	{
		name: "gpu reports evidence, not answers", in: []string{"vqa/gpu/..."},
		never: []string{"vqa/domain/answer/..."},
		why:   "an engine reports detections with raw scores; domain/answer decides what they mean",
	},
	{
		name: "reading knows no answers", in: []string{"vqa/domain/query/english"},
		only: []string{"vqa/domain/query", "vqa/domain/query/vocabulary", "vqa/domain/query/vocabulary/wordnet", "vqa/domain/answer/predicate"},
		why:  "what a question means does not depend on what an engine finds",
	},
	{
		name: "words know no questions", in: []string{"vqa/domain/query/vocabulary"},
		only: []string{"vqa/domain/query/vocabulary/wordnet"},
		why:  "models, questions and answers share the meaning of a word",
	},
	{
		name: "the lexicon stands alone", in: []string{"vqa/domain/query/vocabulary/wordnet"},
		never: []string{"vqa/..."},
		why:   "it says what English words are, not what a question or a model means by them",
	},
	{
		name: "predicates know no answers", in: []string{"vqa/domain/answer/predicate"},
		only: []string{"vqa/domain/evidence", "vqa/domain/query/..."},
		why:  "a predicate says what one object is or does; domain/answer decides what follows",
	},
	{
		name: "evidence stands alone", in: []string{"vqa/domain/evidence"},
		never: []string{"vqa/..."},
		why:   "the engine contract and the answer rules share these values, and neither depends on the other",
	},
	{
		name: "the client speaks HTTP", in: []string{"vqa/cmd/vqa/internal/client"},
		only: []string{"vqa/cmd/vqa/internal/terminal", "vqa/domain/...", "github.com/google/uuid", "github.com/tmaxmax/go-sse"},
		why:  "the command line can do what every caller of the public API can do, and nothing else",
	},
	{
		name: "the camera speaks to the public API", in: []string{"vqa/cmd/vqa/internal/camera"},
		only: []string{"vqa/domain/stream", "vqa/handlers/intake/ffmpeg", "vqa/streaming/message", "github.com/coder/websocket", pion},
		why:  "vqa stream can do what a browser can do, and nothing else",
	},
	{
		name: "migrations know no code", in: []string{"vqa/migrations"},
		never: []string{"vqa/..."},
		why:   "an old migration must not change with today's types",
	},
}, siblingRules()...)

func siblingRules() []importRule {
	var rules []importRule
	for _, self := range aggregates {
		var others []string
		for _, other := range aggregates {
			if other != self {
				others = append(others, "vqa/domain/"+other+"/...")
			}
		}
		rules = append(rules, importRule{
			name: self + " imports no sibling", in: []string{"vqa/domain/" + self + "/..."}, never: others,
			why: "aggregates meet in commands, through ids and events, so that each stays consistent alone",
		})
	}
	return rules
}

func TestImports(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	for _, rule := range importRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range packages {
				for _, path := range rule.violations(p) {
					t.Errorf("%s must not import %s: %s", importers(t, p, path), path, rule.why)
				}
			}
		})
	}
}

// TestImportRulesBite checks that the rules find forbidden imports.
func TestImportRulesBite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, path string
		rules    []string // the rules that forbid the import
	}{
		{"vqa/domain/credit", "vqa/domain/account", []string{"credit imports no sibling"}},
		{"vqa/domain/credit", "vqa/domain/fault", nil},
		{"vqa/domain/credit", "github.com/shopspring/decimal", nil},
		{"vqa/domain/credit", "github.com/google/uuid", []string{"domain is pure"}},
		{"vqa/domain/id", "crypto/rand", []string{"domain is pure"}},
		{"vqa/domain/id", "log/slog", []string{"domain is pure"}},
		{"vqa/eventstore", "github.com/jackc/pgx/v5", []string{"SQL and Watermill stay in their packages"}},
		{"vqa/eventstore/postgres", "github.com/jackc/pgx/v5/pgxpool", nil},
		{"vqa/eventstore/feed", "github.com/ThreeDotsLabs/watermill", nil},
		{"vqa/eventstore/embedded", "vqa/domain/fault", []string{"embedded stands alone"}},
		{"vqa/eventstore/translog", "vqa/eventstore", []string{"the transparency log is pure"}},
		{"vqa/eventstore/translog", "golang.org/x/mod/sumdb/note", nil},
		{"vqa/projections/ledger", "vqa/handlers/command", []string{"projections read"}},
		{"vqa/handlers/command", "github.com/go-chi/chi/v5", []string{"routing stays at the edge"}},
		{"vqa/handlers/httpapi/edge", "github.com/go-chi/chi/v5", nil},
		{"vqa/handlers/httpapi/edge", "vqa/handlers/httpapi", []string{"the edge and the pages know no operations"}},
		{"vqa/handlers/httpapi/edge", "vqa/handlers/httpapi/api", nil},
		{"vqa/handlers/mcp", "vqa/handlers/command", []string{"tools are requests"}},
		{"vqa/handlers/mcp", "vqa/handlers/httpapi/edge", nil},
		{"vqa/handlers/oauth", "vqa/handlers/command", []string{"the rules of OAuth are pure"}},
		{"vqa/handlers/httpapi", "github.com/modelcontextprotocol/go-sdk/mcp", []string{"one package speaks the agent protocol"}},
		{"vqa/handlers/httpapi/pages", "vqa/handlers/httpapi/edge", []string{"pages know no requests"}},
		{"vqa/handlers/command", "database/sql", []string{"no SQL in handlers"}},
		{"vqa/handlers/command", "vqa/gpu/oip", []string{"handlers know no media stack and no engine"}},
		{"vqa/streaming/live", "vqa/eventstore", []string{"streaming asks through its own interfaces"}},
		{"vqa/streaming/assemble", "github.com/pion/webrtc/v4", []string{"assembly is pure"}},
		{"vqa/streaming/assemble", "github.com/pion/rtp/codecs", nil},
		{"vqa/streaming/decode", "vqa/streaming/peer", []string{"decoding knows no network"}},
		{"vqa/streaming/decode", "os/exec", []string{"one package runs ffmpeg"}},
		{"vqa/gpu/oip", "vqa/eventstore", []string{"gpu only infers"}},
		{"vqa/gpu/oip", "vqa/domain/answer", []string{"gpu reports evidence, not answers"}},
		{"vqa/domain/evidence", "vqa/domain/query", []string{"evidence stands alone"}},
		{"vqa/domain/answer/predicate", "vqa/domain/answer", []string{"predicates know no answers"}},
		{"vqa/handlers/artifact", "os/exec", []string{"one package runs ffmpeg"}},
		{"vqa/handlers/intake/demo", "vqa/handlers/intake/demo/paint", []string{"drawing is for tests"}},
		{"vqa/gpu/frames", "os/exec", []string{"one package runs ffmpeg"}},
		{"vqa/handlers/intake/ffmpeg", "os/exec", nil},
		{"vqa/migrations", "vqa/domain/fault", []string{"migrations know no code"}},
		{"vqa/cmd/vqa/internal/evaluate", "vqa/projections", []string{"an evaluation sees what a caller sees"}},
		{"vqa/cmd/vqa/internal/finance", "vqa/handlers/command", []string{"finance prints what it is given"}},
		{"vqa/cmd/vqa/internal/doctor", "vqa/handlers/command", []string{"the doctor commands nothing"}},
		{"vqa/cmd/vqa/internal/client", "vqa/handlers/command", []string{"the client speaks HTTP"}},
		{"vqa/cmd/vqa/internal/terminal", "vqa/domain/fault", []string{"terminal only prints"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.in, " imports ", tt.path), func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, rule := range importRules {
				if len(rule.violations(goPackage{ImportPath: tt.in, Imports: []string{tt.path}})) > 0 {
					got = append(got, rule.name)
				}
			}
			if diff := cmp.Diff(tt.rules, got); diff != "" {
				t.Errorf("rules that object (-want +got):\n%s", diff)
			}
		})
	}
}
