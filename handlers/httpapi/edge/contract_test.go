package edge

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/handlers/httpapi/api"
)

func TestEveryOperationHasAHandlerAndTheReverse(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	described := map[string]bool{}
	for name := range c.operations {
		described[name] = true
	}
	served := map[string]bool{}
	routes, ok := api.HandlerWithOptions(api.Unimplemented{}, api.ChiServerOptions{}).(chi.Routes)
	require.True(t, ok)
	require.NoError(t, chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		served[method+" "+route] = true
		return nil
	}))
	require.Empty(t, cmp.Diff(described, served))
}

func TestOperationsCarryWhatTheEdgeEnforces(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	scopes, public, optional, idempotent := map[string]string{}, []string{}, []string{}, []string{}
	for _, op := range c.operations {
		switch {
		case op.public:
			public = append(public, op.id)
		case op.optional:
			optional = append(optional, op.id)
		default:
			scopes[op.id] = op.scope
		}
		if op.idempotent {
			idempotent = append(idempotent, op.id)
		}
	}
	slices.Sort(public)
	slices.Sort(optional)
	slices.Sort(idempotent)
	require.Equal(t, []string{
		"createAnalysis", "createAnalysisBatch", "createApiKey", "createClientToken", "createSandbox", "createStream", "createVideo",
		"createWebhookEndpoint", "requestDeviceCode", "rerunAnalysis", "rotateApiKey", "rotateWebhookSecret", "upgradeKey",
	}, idempotent)
	require.Equal(t, []string{"parsePrompt", "requestDeviceCode"}, optional)
	require.Equal(t, []string{
		"createSandbox", "decideClaim", "getChangelogDocs", "getClaimPage", "getContract", "getCreditPricing", "getDemoThumbnail",
		"getDemoVideoFile", "getDeviceCode", "getDocs", "getDocsAsset", "getErrorDocs", "getHealth", "getIndex",
		"getLedgerCheckpoint", "getLedgerCheckpointOfSize", "getLedgerKeys",
		"getLiveAsset", "getLivePage",
		"getMetrics", "getQuerySchema", "getQuestionDocs", "getQuickstart", "getReadiness", "getRobots", "getTestFixture",
		"getTestFixtureVideo", "listChanges", "listDemoVideos", "listErrors", "listModels",
	}, public)
	require.Empty(t, cmp.Diff(map[string]string{
		"listVideos": "videos:read", "createVideo": "videos:write", "getVideo": "videos:read", "deleteVideo": "videos:write",
		"completeVideo": "videos:write", "listVideoAnalyses": "analyses:read", "listAnalyses": "analyses:read",
		"createAnalysis": "analyses:write", "createAnalysisBatch": "analyses:write", "getAnalysis": "analyses:read",
		"cancelAnalysis": "analyses:write", "rerunAnalysis": "analyses:write", "streamAnalysis": "analyses:read",
		"listStreams": "streams:read", "createStream": "streams:create", "getStream": "streams:read", "endStream": "streams:create",
		"getStreamRecording": "streams:read", "deleteStreamRecording": "streams:create", "preflightStream": "streams:create", "signalStream": "streams:signal", "streamResults": "streams:signal",
		"createWHIPSession": "streams:signal", "updateWHIPSession": "streams:signal", "deleteWHIPSession": "streams:signal",
		"getCredits": "usage:read", "getCreditProof": "usage:read", "getUsage": "usage:read",
		"listEvents": "webhooks:read", "getEvent": "webhooks:read", "streamEvents": "webhooks:read",
		"listWebhookEndpoints": "webhooks:read", "createWebhookEndpoint": "webhooks:write", "getWebhookEndpoint": "webhooks:read", "listWebhookDeliveries": "webhooks:read", "getWebhookDelivery": "webhooks:read",
		"listWebhookAttempts": "webhooks:read", "redeliverWebhookDelivery": "webhooks:write", "redeliverWebhookDeliveries": "webhooks:write",
		"testWebhookEndpoint":   "webhooks:write",
		"updateWebhookEndpoint": "webhooks:write", "deleteWebhookEndpoint": "webhooks:write", "enableWebhookEndpoint": "webhooks:write",
		"disableWebhookEndpoint": "webhooks:write", "rotateWebhookSecret": "webhooks:write",
		"upgradeKey": "keys:write", "listApiKeys": "keys:write", "createApiKey": "keys:write", "getApiKey": "keys:write",
		"revokeApiKey": "keys:write", "rotateApiKey": "keys:write", "createClientToken": "",
	}, scopes))
}

func TestFindReturnsAllowedMethods(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	tests := map[string]struct {
		method, path, want string
		allowed            []string
	}{
		"a path":            {http.MethodGet, "/v1/videos", "listVideos", nil},
		"a path with id":    {http.MethodPost, "/v1/videos/video_x/complete", "completeVideo", nil},
		"another method":    {http.MethodPatch, "/v1/videos/video_x", "", []string{"GET", "DELETE", "HEAD"}},
		"POST alone":        {http.MethodGet, "/v1/sandbox", "", []string{"POST"}},
		"no path":           {http.MethodGet, "/v2/videos", "", nil},
		"a path like an id": {http.MethodGet, "/v1/analyses/batch", "", []string{"POST"}},
		"a trailing slash":  {http.MethodGet, "/v1/videos/", "", nil},
		"no method":         {"BREW", "/v1/videos", "", []string{"GET", "POST", "HEAD"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, allowed := c.find(tt.method, tt.path)
			require.Equal(t, tt.allowed, allowed)
			require.Equal(t, tt.want != "", op != nil)
			if op != nil {
				require.Equal(t, tt.want, op.id)
			}
		})
	}
}

// TestCompiledQueryIsDescribedOnce compares CompiledQuery in the contract with the schema of the
// domain: both have the same fields, limits and values.
func TestCompiledQueryIsDescribedOnce(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	var served map[string]any
	require.NoError(t, json.Unmarshal(query.Schema(), &served))
	raw, err := json.Marshal(c.document)
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, json.Unmarshal(raw, &document))
	described := document["components"].(map[string]any)["schemas"].(map[string]any)["CompiledQuery"].(map[string]any)
	require.Empty(t, cmp.Diff(normal(served, served), normal(document, described)))
}

// normal resolves references and removes texts, so that only rules are left.
func normal(root, node any) any {
	o, ok := node.(map[string]any)
	if !ok {
		if list, ok := node.([]any); ok {
			out := make([]any, len(list))
			for i, v := range list {
				out[i] = normal(root, v)
			}
			return out
		}
		return node
	}
	if ref, ok := o["$ref"].(string); ok {
		target := root
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			target = target.(map[string]any)[name]
		}
		return normal(root, target)
	}
	// `oneOf [null, X]` equals `type [object, null]`, and const equals an enum of one value.
	if alternatives, ok := o["oneOf"].([]any); ok && len(alternatives) == 2 {
		out := normal(root, alternatives[1]).(map[string]any)
		out["type"] = []any{out["type"], "null"}
		return out
	}
	out := map[string]any{}
	for name, v := range o {
		switch name {
		case "$schema", "$id", "$defs", "title", "default", "description", "example":
		case "const":
			out["enum"] = []any{v}
		case "enum":
			out["enum"] = v
		case "properties":
			properties := map[string]any{}
			for field, schema := range v.(map[string]any) {
				properties[field] = normal(root, schema)
			}
			out[name] = properties
		default:
			out[name] = normal(root, v)
		}
	}
	// An enum implies its type.
	if out["enum"] != nil {
		delete(out, "type")
	}
	return out
}

// TestCodesInTheContractExist checks every code in the description of a response.
func TestCodesInTheContractExist(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	known := map[string]bool{}
	for _, e := range fault.Registry() {
		known[string(e.Code)] = true
	}
	// Words in backquotes that are not codes.
	other := map[string]bool{"errors": true, "param": true, "request_id": true, "details.meter": true, "credit_seconds": true, "free_grant": true, "application/json": true}
	responses := c.document["components"].(map[string]any)["responses"].(map[string]any)
	for name, r := range responses {
		text := r.(map[string]any)["description"].(string)
		for _, found := range regexp.MustCompile("`([a-z_./]+)`").FindAllStringSubmatch(text, -1) {
			require.True(t, known[found[1]] || other[found[1]], "%s names %s", name, found[1])
		}
	}
}

// TestWhatTheEdgeRefusesIsDescribed: every operation describes the responses that the edge can
// send.
func TestWhatTheEdgeRefusesIsDescribed(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	for name, op := range c.operations {
		method, path, _ := strings.Cut(name, " ")
		described := c.document["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(method)].(map[string]any)
		responses := described["responses"].(map[string]any)
		needed := map[string]bool{
			"400": len(op.parameters) > 0 || method != http.MethodGet,
			"401": !op.public, "403": !op.public, "409": op.idempotent,
			"413": op.body != nil, "415": op.body != nil,
			"429": op.rate != exempt, "500": true, "503": !op.public,
		}
		for status, is := range needed {
			if is {
				require.Contains(t, responses, status, op.id)
			}
		}
	}
}

// queuesDeliveries are the operations that create nothing. A repeated redelivery finds the deliveries queued, and
// a repeated test sends another sample.
var queuesDeliveries = map[string]bool{"redeliverWebhookDelivery": true, "redeliverWebhookDeliveries": true, "testWebhookEndpoint": true}

// TestEveryPostThatCreatesTakesAnIdempotencyKey reads the operations from the contract whose
// success is 201 or 202, or whose response has a new secret, so that it covers new operations.
func TestEveryPostThatCreatesTakesAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	for route, op := range c.operations {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodPost {
			continue
		}
		described := c.document["paths"].(map[string]any)[path].(map[string]any)["post"].(map[string]any)
		responses := described["responses"].(map[string]any)
		_, created := responses["201"]
		_, accepted := responses["202"]
		creates := (created || accepted) && !queuesDeliveries[op.id] && op.text == "" // WHIP has no such header
		require.Equal(t, creates || op.secretResponse, op.idempotent, op.id)
	}
}

// TestExamplesOfErrorsAreThoseOfTheRegistry: the examples of error responses have the default
// messages of their codes.
func TestExamplesOfErrorsAreThoseOfTheRegistry(t *testing.T) {
	t.Parallel()
	responses := shippedContract(t).document["components"].(map[string]any)["responses"].(map[string]any)
	compared := 0
	for name, r := range responses {
		content, _ := r.(map[string]any)["content"].(map[string]any)
		media, _ := content["application/json"].(map[string]any)
		example, _ := media["example"].(map[string]any)
		shown, _ := example["error"].(map[string]any)
		code, _ := shown["code"].(string)
		if code == "" || code == string(fault.ValidationFailed) || code == string(fault.ResourceNotFound) {
			continue // no example, or one whose message names the field or the id
		}
		require.Equal(t, fault.Lookup(fault.Code(code)).Message, shown["message"], name)
		compared++
	}
	require.Greater(t, compared, 10)
}
