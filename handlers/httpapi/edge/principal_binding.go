package edge

import (
	"cmp"
	"net/http"

	"github.com/go-chi/chi/v5"

	"vqa/domain/fault"
)

// checkBinding limits a client token to the one resource that it is bound to. It compares
// the ids in the request with the bound id and looks nothing up, so that the response does
// not reveal whether another resource exists. The id of an analysis does not name its video, so the
// operation reads it. The tenant of the caller narrows lists and reads. Error: insufficient_scope.
func (e *Edge) checkBinding(x *Exchange, r *http.Request, body any) error {
	bound := cmp.Or(x.Caller.VideoID, x.Caller.StreamID)
	if bound == "" {
		return nil
	}
	refused := fault.Newf(fault.InsufficientScope, "This client token works only for %s.", bound)
	if x.Caller.VideoID == "" {
		// A token that is bound to a stream works only where the path names a stream.
		if e.pathID(r) == bound {
			return nil
		}
		return refused
	}
	named := true // the request names the bound video, or no video where that is allowed
	switch x.operation.id {
	case "listVideos", "getAnalysis", "streamAnalysis", "cancelAnalysis", "rerunAnalysis":
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

// bodyNames reports whether a field of a body has a value. A body that is not an object, or
// whose field is not text, passes: validation refuses it later.
func bodyNames(body any, field, value string) bool {
	members, _ := body.(map[string]any)
	named, isText := members[field].(string)
	return !isText || named == value
}
