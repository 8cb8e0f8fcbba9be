package httpapi

import (
	"context"
	"time"

	"vqa/handlers/httpapi/edge"
	"vqa/handlers/objects"
)

// signing records in the exchange the URLs that are signed for its response.
type signing struct{ Objects }

// UploadURL implements Objects.
func (s signing) UploadURL(ctx context.Context, key, contentType string, maxBytes int64, ttl time.Duration) (objects.Signed, error) {
	signed, err := s.Objects.UploadURL(ctx, key, contentType, maxBytes, ttl)
	edge.ExchangeOf(ctx).Signed(signed.URL, stamp(signed.ExpiresAt))
	return signed, err
}

// DownloadURL implements Objects.
func (s signing) DownloadURL(ctx context.Context, key, filename, contentType string, ttl time.Duration) (objects.Signed, error) {
	signed, err := s.Objects.DownloadURL(ctx, key, filename, contentType, ttl)
	edge.ExchangeOf(ctx).Signed(signed.URL, stamp(signed.ExpiresAt))
	return signed, err
}
