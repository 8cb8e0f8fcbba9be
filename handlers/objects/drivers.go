package objects

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	_ "gocloud.dev/blob/s3blob" // opens s3:// URLs
)

// A driver is compiled in when its weight is bearable. A stripped program that only
// opens a bucket (linux/amd64, Go 1.26, two cores, dependencies not yet built):
//
//	fileblob            11.7 MB   12 s
//	+ s3blob            22.1 MB   13 s more   in: also speaks to MinIO, Ceph, R2, GCS in its S3 mode
//	+ gcsblob           35.7 MB   31 s more   out: a third program of gRPC for one vendor
//	+ azureblob         17.4 MB    5 s more   out until asked for: one import line adds it

// copyOnlyIf makes a copy on S3 fail when its source is no longer the object of
// that ETag.
func copyOnlyIf(etag string) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var in *s3.CopyObjectInput
		if as(&in) {
			in.CopySourceIfMatch = aws.String(etag)
		}
		return nil
	}
}

// signPut binds a presigned S3 PUT to its content type.
func signPut(contentType string) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var in *s3.PutObjectInput
		if as(&in) {
			in.ContentType = aws.String(contentType)
		}
		return nil
	}
}

// signGet makes S3 answer a presigned GET with this type and disposition.
func signGet(filename, contentType string) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var in *s3.GetObjectInput
		if !as(&in) {
			return nil
		}
		if contentType != "" {
			in.ResponseContentType = aws.String(contentType)
		}
		in.ResponseContentDisposition = aws.String(disposition(filename))
		return nil
	}
}
