package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"vqa/handlers/httpapi/api"
)

// The entries of the changelog that requests run into elsewhere than by their endpoint.
const (
	deprecatedKey   = "legacy-keys"
	deprecatedModel = "model-aliases"
)

// deprecations are the entries of the changelog that responses speak of.
type deprecations struct {
	publicURL  string
	byID       map[string]change
	byEndpoint map[string][]change
}

// newDeprecations fails when an entry is missing that the code speaks of, or when one is
// about an endpoint that the contract does not have.
func newDeprecations(changes []change, c *contract, publicURL string) (deprecations, error) {
	d := deprecations{publicURL: publicURL, byID: map[string]change{}, byEndpoint: map[string][]change{}}
	for _, entry := range changes {
		if entry.Type != api.Deprecation {
			continue
		}
		d.byID[entry.ID] = entry
		for _, endpoint := range entry.Endpoints {
			op := c.operations[endpoint]
			if op == nil {
				return d, fmt.Errorf("httpapi: changelog: %s speaks of %s, which the contract does not have", entry.ID, endpoint)
			}
			d.byEndpoint[op.id] = append(d.byEndpoint[op.id], entry)
		}
	}
	for _, id := range []string{deprecatedKey, deprecatedModel} {
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

// tell warns that this request used something deprecated: the entry of the changelog with
// an id. ends, when not zero, is when it goes away for this caller, in place of the
// entry's own date.
func (d deprecations) tell(h http.Header, id string, ends time.Time) {
	entry := d.byID[id]
	if !ends.IsZero() {
		entry.sunset = ends
	}
	d.add(h, entry)
}

// add sets the headers of RFC 9745 and RFC 8594. When several things are deprecated, the
// earliest dates count, and each has a link of its own. A thing that should be gone
// already has no Sunset: RFC 9745 wants it after the deprecation.
func (d deprecations) add(h http.Header, entry change) {
	link := fmt.Sprintf(`<%s%s>; rel="deprecation"; type="text/html"`, d.publicURL, entry.anchor())
	if slices.Contains(h.Values("Link"), link) {
		return
	}
	h.Add("Link", link)
	since := entry.date.Unix()
	if before, err := strconv.ParseInt(strings.TrimPrefix(h.Get("Deprecation"), "@"), 10, 64); err == nil {
		since = min(since, before)
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(since, 10))
	if !entry.sunset.After(entry.date) {
		return
	}
	if before, err := http.ParseTime(h.Get("Sunset")); err != nil || entry.sunset.Before(before) {
		h.Set("Sunset", entry.sunset.UTC().Format(http.TimeFormat))
	}
}
