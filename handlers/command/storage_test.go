package command

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
)

// held is a read model with preset values.
type held struct{ bytes, unsized int64 }

func (h *held) HeldBytes(context.Context, string) (int64, int64, error) {
	return h.bytes, h.unsized, nil
}

const gib = 1 << 30

func withStorage(h *held) option {
	return func(d *Dependencies) {
		d.Storage = h
		d.Limits.StoragePerAccount, d.Limits.StoragePerSandbox = 10*gib, gib
	}
}

func TestStorageQuota(t *testing.T) {
	t.Parallel()
	url := ptr("https://example.com/a.mp4")
	sized := func(n int64) CreateVideo { return CreateVideo{ContentType: "video/mp4", SizeBytes: &n} }
	unsized := CreateVideo{ContentType: "video/mp4"}
	for name, tt := range map[string]struct {
		held    held
		sandbox bool
		create  CreateVideo
		refused bool
	}{
		"nothing is stored":                           {held{}, false, unsized, false},
		"the last byte":                               {held{bytes: 10*gib - 105}, false, sized(100), false},
		"the size may be 5% more than declared":       {held{bytes: 10*gib - 104}, false, sized(100), true},
		"unknown size needs the largest":              {held{bytes: 8*gib + 1}, false, unsized, true},
		"a URL too":                                   {held{bytes: 8*gib + 1}, false, CreateVideo{URL: url}, true},
		"room for the largest":                        {held{bytes: 8 * gib}, false, CreateVideo{URL: url}, false},
		"open uploads of unknown size count":          {held{unsized: 5}, false, sized(1), true},
		"a sandbox has less":                          {held{bytes: gib}, true, sized(1), true},
		"a sandbox may store a video of any size":     {held{}, true, unsized, false},
		"it has room for four videos of unknown size": {held{unsized: 3}, true, unsized, false},
		"but not for a fifth video":                   {held{unsized: 4}, true, sized(1), true},
		"nor for a video larger than its quota":       {held{}, true, sized(gib), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, withStorage(&tt.held))
			caller := w.account(0)
			if tt.sandbox {
				caller, _ = w.sandbox()
			}
			_, err := w.CreateVideo(t.Context(), caller, tt.create)
			if !tt.refused {
				require.NoError(t, err)
				return
			}
			requireFault(t, err, fault.QuotaExceeded)
			f := fault.Of(err)
			require.Equal(t, StorageMeter, f.Details["meter"])
			require.Positive(t, f.RetryAfterS)
		})
	}
}

// counted sums the bytes in the log, as the read model does.
type counted struct{ log eventstore.Store }

func (c *counted) HeldBytes(ctx context.Context, _ string) (bytes, unsized int64, err error) {
	all, err := c.log.Read(ctx, 0, 10_000)
	for _, r := range all {
		if e, ok := r.Event.(video.Registered); ok {
			bytes += video.UploadLimit(e.DeclaredBytes)
		}
	}
	return bytes, 0, err
}

// TestStorageQuotaUnderParallelCreates decides many commands in one group. The read model does not have the
// videos of the group yet.
func TestStorageQuotaUnderParallelCreates(t *testing.T) {
	t.Parallel()
	count := &counted{}
	w := newWorld(t, func(d *Dependencies) {
		d.Storage, count.log = count, d.Store
		d.Limits.StoragePerAccount = 10 * gib
	})
	caller, size := w.account(0), int64(gib) // and 5% more: 9 fit into 10 GiB
	errs := together(60, func(int) error {
		_, err := w.CreateVideo(context.Background(), caller, CreateVideo{ContentType: "video/mp4", SizeBytes: &size})
		return err
	})
	require.Equal(t, map[string]int{"ok": 9, string(fault.QuotaExceeded): 51}, tally(errs))
}

func TestFetchedVideoBeyondTheQuotaFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withStorage(&held{}))
	sandbox, _ := w.sandbox()
	v, err := w.CreateVideo(t.Context(), sandbox, CreateVideo{URL: ptr("https://example.com/a.mp4")})
	require.NoError(t, err)
	waste, err := w.FinishFetch(t.Context(), Fetch{AccountID: sandbox.AccountID, VideoID: v.ID, Attempt: 1},
		video.File{ObjectKey: "videos/x.1", ContentType: "video/mp4", SizeBytes: gib + 1})
	require.NoError(t, err)
	require.True(t, waste)
	require.Equal(t, fault.QuotaExceeded, stateOf(w, videos, v.ID).Error.Code)
}

func TestCreateIsRefusedWithoutRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(0)
	test, _ := w.sandbox()
	w.intake.noRoom = fault.New(fault.CapacityExhausted, "").WithRetryAfter(60)
	w.requireUnchanged(func() {
		for _, c := range []CreateVideo{{ContentType: "video/mp4"}, {URL: ptr("https://example.com/a.mp4")}} {
			_, err := w.CreateVideo(t.Context(), caller, c)
			requireFault(t, err, fault.CapacityExhausted)
		}
	})
	_, err := w.CreateVideo(t.Context(), test, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err, "test-mode requests are never refused for capacity")
}
