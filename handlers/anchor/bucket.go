package anchor

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // opens s3:// URLs
	"gocloud.dev/gcerrors"
)

// bucket keeps files in a bucket of an S3 server.
type bucket struct {
	*blob.Bucket
	client  *s3.Client
	name    string
	lockFor time.Duration
	now     func() time.Time
}

func openBucket(ctx context.Context, opt Options) (store, error) {
	u, err := url.Parse(opt.URL)
	if err != nil {
		return nil, errors.New("anchor: the URL cannot be parsed")
	}
	if opt.LockFor > 0 && opt.Now == nil {
		return nil, errors.New("anchor: set Now")
	}
	opened, err := blob.OpenBucket(ctx, opt.URL)
	if err != nil {
		// The error of the driver repeats the URL, which may have credentials.
		return nil, errors.New("anchor: open the bucket: " + strings.ReplaceAll(err.Error(), opt.URL, u.Scheme+"://…"))
	}
	b := bucket{Bucket: opened, name: u.Host, lockFor: opt.LockFor, now: opt.Now}
	if !opened.As(&b.client) {
		return nil, errors.Join(errors.New("anchor: the bucket must be one of an S3 server"), opened.Close())
	}
	return b, nil
}

func (b bucket) create(ctx context.Context, name string, data []byte) error {
	lock := func(as func(any) bool) error {
		var in *s3.PutObjectInput
		if b.lockFor > 0 && as(&in) {
			in.ObjectLockMode = types.ObjectLockModeCompliance
			in.ObjectLockRetainUntilDate = aws.Time(b.now().Add(b.lockFor))
		}
		return nil
	}
	err := b.WriteAll(ctx, key(name), data, &blob.WriterOptions{IfNotExist: true, ContentType: contentType, BeforeWrite: lock})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return ErrExists
	}
	return err
}

// contentType is that of all files.
const contentType = "application/octet-stream"

func (b bucket) put(ctx context.Context, name string, data []byte) error {
	return b.WriteAll(ctx, key(name), data, &blob.WriterOptions{ContentType: contentType})
}

// read returns the oldest version. Servers without versions list one.
func (b bucket) read(ctx context.Context, name string) ([]byte, error) {
	var oldest *types.ObjectVersion
	in := &s3.ListObjectVersionsInput{Bucket: aws.String(b.name), Prefix: aws.String(key(name))}
	for pages := s3.NewListObjectVersionsPaginator(b.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			older := oldest == nil || v.LastModified != nil && oldest.LastModified != nil && v.LastModified.Before(*oldest.LastModified)
			if aws.ToString(v.Key) == key(name) && older {
				oldest = &v
			}
		}
	}
	if oldest == nil {
		return nil, ErrMissing
	}
	get := &s3.GetObjectInput{Bucket: aws.String(b.name), Key: aws.String(key(name))}
	if id := aws.ToString(oldest.VersionId); id != "" && id != "null" {
		get.VersionId = aws.String(id)
	}
	out, err := b.client.GetObject(ctx, get)
	if err != nil {
		return nil, err
	}
	data, err := readAll(out.Body)
	return data, errors.Join(err, out.Body.Close())
}

// list also finds names that a delete marker hides.
func (b bucket) list(ctx context.Context, folder, after string) ([]string, error) {
	in := &s3.ListObjectVersionsInput{Bucket: aws.String(b.name), Prefix: aws.String(key(folder) + "/")}
	if after != "" {
		in.KeyMarker = aws.String(key(folder) + "/" + after)
	}
	var names []string
	for pages := s3.NewListObjectVersionsPaginator(b.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			if name := base(aws.ToString(v.Key), folder); name > after && !strings.Contains(name, "/") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (b bucket) remove(ctx context.Context, name string) error {
	if err := b.Delete(ctx, key(name)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return err
	}
	return nil
}

// sync does nothing: S3 has a file when it has answered.
func (bucket) sync(context.Context) error { return nil }

func (b bucket) close() error { return b.Close() }
