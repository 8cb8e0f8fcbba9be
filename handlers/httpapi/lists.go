package httpapi

import (
	"time"

	"vqa/projections"
)

// defaultLimit is how many items a page has when nobody says (open-points.md, "Lists").
const defaultLimit = 20

// pageOf is the page that the checked parameters of a list ask for.
func pageOf(limit *int, startingAfter, endingBefore *string, createdAfter, createdBefore *time.Time) projections.Page {
	page := projections.Page{
		Limit: defaultLimit, StartingAfter: given(startingAfter), EndingBefore: given(endingBefore),
	}
	// Both bounds are inclusive, of times as they are shown: `created_at` of a resource,
	// which has milliseconds, includes it.
	if createdAfter != nil {
		page.CreatedAfter = new(stamp(createdAfter.Add(time.Millisecond - 1)))
	}
	if createdBefore != nil {
		page.CreatedBefore = new(stamp(*createdBefore).Add(time.Millisecond - time.Microsecond))
	}
	if limit != nil {
		page.Limit = *limit
	}
	return page
}
