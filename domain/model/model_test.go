package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/model"
)

var sunset = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

var catalog = model.Catalog{
	{ID: "old-1", Status: model.Deprecated, SunsetAt: &sunset, Aliases: []string{"Ancient"}},
	{ID: "main-2", Status: model.Stable, Default: true, Aliases: []string{"main-1", "Main-1.5"}},
	{ID: "next-3", Status: model.Preview},
}

func TestResolve(t *testing.T) {
	t.Parallel()
	before := sunset.Add(-time.Nanosecond)
	for name, test := range map[string]struct {
		ask     string
		now     time.Time
		want    string
		refused fault.Code
	}{
		"empty is the default":              {"", before, "main-2", ""},
		"latest is the default":             {"latest", before, "main-2", ""},
		"latest in any casing":              {"LaTeSt", before, "main-2", ""},
		"an id":                             {"next-3", before, "next-3", ""},
		"an id in upper case":               {"NEXT-3", before, "next-3", ""},
		"an alias":                          {"main-1", before, "main-2", ""},
		"an alias in upper case":            {"MAIN-1.5", before, "main-2", ""},
		"deprecated, just before sunset":    {"old-1", before, "old-1", ""},
		"deprecated, at sunset":             {"old-1", sunset, "", fault.ModelDeprecated},
		"alias of deprecated, after sunset": {"ancient", sunset.Add(time.Hour), "", fault.ModelDeprecated},
		"another model after the sunset":    {"", sunset.Add(time.Hour), "main-2", ""},
		"unknown":                           {"main", before, "", fault.ModelNotFound},
		"a space is not empty":              {" ", before, "", fault.ModelNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := catalog.Resolve(test.ask, test.now)
			if test.refused != "" {
				require.True(t, fault.Has(err, test.refused), "%v", err)
				require.Equal(t, "model", fault.Of(err).Param)
				require.Zero(t, m)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, m.ID)
		})
	}
}

func TestEmptyCatalogHasNoDefault(t *testing.T) {
	t.Parallel()
	_, err := model.Catalog{}.Resolve("", sunset)
	require.True(t, fault.Has(err, fault.ModelNotFound))
}
