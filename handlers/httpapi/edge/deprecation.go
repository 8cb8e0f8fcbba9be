package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The deprecations that requests run into elsewhere than by their endpoint.
const (
	// DeprecatedLegacyKeys is about API keys of the old form.
	DeprecatedLegacyKeys = "legacy-keys"
	// DeprecatedModelAliases is about requests that name a model by an old name.
	DeprecatedModelAliases = "model-aliases"
)

// Deprecation is a part of the API that goes away.
type Deprecation struct {
	ID string
	// Since is when it was deprecated.
	Since time.Time
	// Sunset is zero when nobody knows when the thing goes away.
	Sunset time.Time
	// Endpoints are the operations that it is about, as "METHOD path".
	Endpoints []string
	// URL leads to a page about it.
	URL string
}

// deprecations are those that responses speak of.
type deprecations struct {
	byID       map[string]Deprecation
	byEndpoint map[string][]Deprecation
}

// newDeprecations fails when one is missing that the code speaks of, or when one is about
// an endpoint that the contract does not have.
func newDeprecations(all []Deprecation, c *Contract) (deprecations, error) {
	d := deprecations{byID: map[string]Deprecation{}, byEndpoint: map[string][]Deprecation{}}
	for _, entry := range all {
		d.byID[entry.ID] = entry
		for _, endpoint := range entry.Endpoints {
			op := c.operations[endpoint]
			if op == nil {
				return d, fmt.Errorf("httpapi: changelog: %s speaks of %s, which the contract does not have", entry.ID, endpoint)
			}
			d.byEndpoint[op.id] = append(d.byEndpoint[op.id], entry)
		}
	}
	for _, id := range []string{DeprecatedLegacyKeys, DeprecatedModelAliases} {
		if _, ok := d.byID[id]; !ok {
			return d, fmt.Errorf("httpapi: changelog: there is no deprecation %s", id)
		}
	}
	return d, nil
}

// tellOf warns everyone who uses an operation that has something deprecated.
func (d deprecations) tellOf(h http.Header, op *operation) {
	for _, entry := range d.byEndpoint[op.id] {
		d.add(h, entry)
	}
}

// Deprecated warns the caller in the headers of the response that the request used
// something deprecated: DeprecatedLegacyKeys or DeprecatedModelAliases.
func (x *Exchange) Deprecated(id string) {
	x.edge.deprecations.tell(x.response.Header(), id, time.Time{})
}

// tell warns that this request used something deprecated: the entry of the changelog with
// an id. ends, when not zero, is when it goes away for this caller, in place of the
// entry's own date.
func (d deprecations) tell(h http.Header, id string, ends time.Time) {
	entry := d.byID[id]
	if !ends.IsZero() {
		entry.Sunset = ends
	}
	d.add(h, entry)
}

// add sets the headers of RFC 9745 and RFC 8594. When several things are deprecated, the
// earliest dates count, and each has a link of its own. A thing that should be gone
// already has no Sunset: RFC 9745 wants it after the deprecation.
func (d deprecations) add(h http.Header, entry Deprecation) {
	link := fmt.Sprintf(`<%s>; rel="deprecation"; type="text/html"`, entry.URL)
	if slices.Contains(h.Values("Link"), link) {
		return
	}
	h.Add("Link", link)
	since := entry.Since.Unix()
	if before, err := strconv.ParseInt(strings.TrimPrefix(h.Get("Deprecation"), "@"), 10, 64); err == nil {
		since = min(since, before)
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(since, 10))
	if !entry.Sunset.After(entry.Since) {
		return
	}
	if before, err := http.ParseTime(h.Get("Sunset")); err != nil || entry.Sunset.Before(before) {
		h.Set("Sunset", entry.Sunset.UTC().Format(http.TimeFormat))
	}
}
