package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ids of the deprecations that depend on more than the endpoint.
const (
	// DeprecatedLegacyKeys covers API keys of the old form.
	DeprecatedLegacyKeys = "legacy-keys"
	// DeprecatedModelAliases covers requests that name a model by an old name.
	DeprecatedModelAliases = "model-aliases"
	// DeprecatedSummaryFrames covers responses that contain results_summary.frames.
	DeprecatedSummaryFrames = "results-summary-frames"
)

// Deprecation is a part of the API that will be removed.
type Deprecation struct {
	ID string
	// Since is when it was deprecated.
	Since time.Time
	// Sunset is the date of the removal, or zero if it is not known.
	Sunset time.Time
	// Endpoints are the deprecated operations, as "METHOD path".
	Endpoints []string
	// URL is a page that explains the deprecation.
	URL string
}

// deprecations are the deprecations that responses mention in their headers.
type deprecations struct {
	byID       map[string]Deprecation
	byEndpoint map[string][]Deprecation
}

// newDeprecations fails if one of the ids above is missing, or if an endpoint is not in the contract.
func newDeprecations(all []Deprecation, c *Contract) (deprecations, error) {
	d := deprecations{byID: map[string]Deprecation{}, byEndpoint: map[string][]Deprecation{}}
	for _, entry := range all {
		d.byID[entry.ID] = entry
		for _, endpoint := range entry.Endpoints {
			op := c.operations[endpoint]
			if op == nil {
				return d, fmt.Errorf("httpapi: changelog: entry %s names %s, which is not in the contract", entry.ID, endpoint)
			}
			d.byEndpoint[op.id] = append(d.byEndpoint[op.id], entry)
		}
	}
	for _, id := range []string{DeprecatedLegacyKeys, DeprecatedModelAliases, DeprecatedSummaryFrames} {
		if _, ok := d.byID[id]; !ok {
			return d, fmt.Errorf("httpapi: changelog: the deprecation %s is missing", id)
		}
	}
	return d, nil
}

// addForOperation adds the deprecations of an operation.
func (d deprecations) addForOperation(h http.Header, op *operation) {
	for _, entry := range d.byEndpoint[op.id] {
		d.add(h, entry)
	}
}

// Deprecated adds headers to the response which say that the request used, or the response contains,
// something deprecated: one of the ids above.
func (x *Exchange) Deprecated(id string) {
	x.edge.deprecations.addByID(x.response.Header(), id, time.Time{})
}

// addByID adds the deprecation with an id. ends, if not zero, replaces its sunset: the date
// of the removal for this caller.
func (d deprecations) addByID(h http.Header, id string, ends time.Time) {
	entry := d.byID[id]
	if !ends.IsZero() {
		entry.Sunset = ends
	}
	d.add(h, entry)
}

// add sets the headers of RFC 9745 and RFC 8594. Of several deprecations the earliest dates
// count, and each has its own link. What has a sunset was deprecated on that day at the latest: RFC 9745 forbids a
// sunset before the deprecation.
func (d deprecations) add(h http.Header, entry Deprecation) {
	link := fmt.Sprintf(`<%s>; rel="deprecation"; type="text/html"`, entry.URL)
	if slices.Contains(h.Values("Link"), link) {
		return
	}
	h.Add("Link", link)
	since := entry.Since.Unix()
	if !entry.Sunset.IsZero() {
		since = min(since, entry.Sunset.Unix())
	}
	if before, err := strconv.ParseInt(strings.TrimPrefix(h.Get("Deprecation"), "@"), 10, 64); err == nil {
		since = min(since, before)
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(since, 10))
	if entry.Sunset.IsZero() {
		return
	}
	if before, err := http.ParseTime(h.Get("Sunset")); err != nil || entry.Sunset.Before(before) {
		h.Set("Sunset", entry.Sunset.UTC().Format(http.TimeFormat))
	}
}
