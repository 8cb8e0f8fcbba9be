package objects

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	_ "gocloud.dev/blob/s3blob" // opens s3:// URLs
)

// Size and build time of a stripped program that only opens a bucket (linux/amd64, Go 1.26, two
// cores, empty build cache), and whether the driver is compiled in:
//
//	fileblob            11.7 MB   12 s
//	+ s3blob            22.1 MB   13 s more   yes: MinIO, Ceph, R2 and GCS in its S3 mode work too
//	+ gcsblob           35.7 MB   31 s more   no: all of gRPC for one vendor
//	+ azureblob         17.4 MB    5 s more   no, until somebody needs it: one import line adds it

// copyOnlyIf makes a copy on S3 fail when its source no longer has that ETag.
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

// signGet makes S3 send this type and disposition for a presigned GET.
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
