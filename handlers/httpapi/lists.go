package httpapi

import (
	"time"

	"vqa/projections"
)

// defaultLimit is the default number of items of a page (docs/contract.md#lists).
const defaultLimit = 20

// pageOf returns the page for the checked parameters of a list.
func pageOf(limit *int, startingAfter, endingBefore *string, createdAfter, createdBefore *time.Time) projections.Page {
	page := projections.Page{
		Limit: defaultLimit, StartingAfter: given(startingAfter), EndingBefore: given(endingBefore),
	}
	// Both bounds include resources with exactly this created_at. Responses show times in
	// milliseconds, and the database stores microseconds.
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
