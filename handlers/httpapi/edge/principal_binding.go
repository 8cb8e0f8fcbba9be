package edge

import (
	"cmp"
	"net/http"

	"github.com/go-chi/chi/v5"

	"vqa/domain/fault"
)

// checkBinding keeps a client token to the one resource that it is bound to. What a
// request names is compared, never looked up, so that the answer says nothing about
// whether it exists; only an analysis, which does not say whose it is, is read, and one
// of another video is as absent as any. Lists and reads are narrowed by the tenant.
// Errors: insufficient_scope, resource_not_found.
//
// It comes before replays: a bound token must not fetch the response of another request.
func (e *Edge) checkBinding(x *Exchange, r *http.Request, body any) error {
	bound := cmp.Or(x.Caller.VideoID, x.Caller.StreamID)
	if bound == "" {
		return nil
	}
	refused := fault.Newf(fault.InsufficientScope, "This client token is bound to %s.", bound)
	if x.Caller.VideoID == "" {
		// Streams are the business of the operations that have one in their path.
		if e.pathID(r) == bound {
			return nil
		}
		return refused
	}
	named := true // whether the request names the bound video, or none where it need not
	switch x.operation.id {
	case "listVideos", "getAnalysis", "streamAnalysis":
	case "cancelAnalysis", "rerunAnalysis":
		return e.Operations.FindAnalysis(r.Context(), e.pathID(r))
	case "listAnalyses":
		for _, video := range r.URL.Query()["video_id"] {
			named = named && video == bound
		}
	case "createAnalysis", "createAnalysisBatch":
		named = bodyNames(body, "video_id", bound)
	default:
		named = e.pathID(r) == bound
	}
	if !named {
		return refused
	}
	return nil
}

// pathID is the id in the path of a request, as it was sent.
func (e *Edge) pathID(r *http.Request) string {
	route := chi.NewRouteContext()
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	e.Contract.routes.Find(route, r.Method, path)
	return route.URLParam("id")
}

// bodyNames reports whether a field of a body holds a value. A body that is no object or
// has no text in the field passes: it is refused for that later.
func bodyNames(body any, field, value string) bool {
	members, _ := body.(map[string]any)
	named, isText := members[field].(string)
	return !isText || named == value
}
