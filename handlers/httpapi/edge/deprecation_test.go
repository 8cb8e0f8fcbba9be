package edge

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deprecated are deprecations like those of the changelog.
func deprecated() []Deprecation {
	since := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	const page = "https://api.example.com/docs/changelog#"
	return []Deprecation{
		{ID: "usage-flat-fields", Since: since, Endpoints: []string{"GET /v1/usage"}, URL: page + "usage-flat-fields"},
		{ID: "results-summary-frames", Since: since, Sunset: time.Date(2026, 8, 28, 0, 0, 0, 0, time.UTC), URL: page + "results-summary-frames"},
		{ID: DeprecatedLegacyKeys, Since: since, URL: page + DeprecatedLegacyKeys},
		{ID: DeprecatedModelAliases, Since: since, URL: page + DeprecatedModelAliases},
	}
}

func TestDeprecationHeaders(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	d, err := newDeprecations(deprecated(), c)
	require.NoError(t, err)

	h := http.Header{}
	d.addForOperation(h, c.operations["GET /v1/videos"])
	require.Empty(t, h)
	d.addForOperation(h, c.operations["GET /v1/usage"])
	require.Equal(t, "@1795219200", h.Get("Deprecation"), "2026-11-21 in UTC")
	require.Empty(t, h.Get("Sunset"))
	link := `<https://api.example.com/docs/changelog#usage-flat-fields>; rel="deprecation"; type="text/html"`
	require.Equal(t, []string{link}, h.Values("Link"))

	// A legacy key adds a link and the day on which the key expires.
	ends := time.Date(2027, 11, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	d.addByID(h, DeprecatedLegacyKeys, ends)
	d.addByID(h, DeprecatedLegacyKeys, ends)
	require.Equal(t, "@1795219200", h.Get("Deprecation"))
	require.Equal(t, "Mon, 01 Nov 2027 11:00:00 GMT", h.Get("Sunset"))
	require.Len(t, h.Values("Link"), 2, "each deprecation has one link")

	// The earliest dates count.
	older := Deprecation{ID: "x", Since: time.Unix(1700000000, 0), Sunset: time.Unix(1800000000, 0)}
	d.add(h, older)
	require.Equal(t, "@1700000000", h.Get("Deprecation"))
	require.Equal(t, "Fri, 15 Jan 2027 08:00:00 GMT", h.Get("Sunset"))
	// A sunset is not before the deprecation.
	h = http.Header{}
	d.addByID(h, DeprecatedSummaryFrames, time.Time{})
	require.Equal(t, "@1787875200", h.Get("Deprecation"))
	require.Equal(t, "Fri, 28 Aug 2026 00:00:00 GMT", h.Get("Sunset"))
}

func TestDeprecationsMustBeWritten(t *testing.T) {
	t.Parallel()
	c := shippedContract(t)
	_, err := newDeprecations(nil, c)
	require.ErrorContains(t, err, DeprecatedLegacyKeys)
	_, err = newDeprecations(append([]Deprecation{{ID: "x", Endpoints: []string{"GET /nowhere"}}}, deprecated()...), c)
	require.ErrorContains(t, err, "/nowhere")
}
