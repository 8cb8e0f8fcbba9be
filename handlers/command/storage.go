package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/video"
)

// StorageMeter is the meter of the storage quota (api-v1.md, "Usage meters and credits").
const StorageMeter = "storage_bytes"

// storageRetryAfterS accompanies a refusal, in seconds. Room appears when the account
// deletes videos or its open uploads end.
const storageRetryAfterS = 3600

// unsizedShare is how many videos of unknown size fit into a quota at least.
const unsizedShare = 4

// Storage tells what accounts keep.
type Storage interface {
	// HeldBytes sums what the account's videos keep and what its open uploads declared.
	// unsized counts the open uploads and fetches whose size nobody knows.
	HeldBytes(ctx context.Context, accountID string) (bytes, unsized int64, err error)
}

// StorageOf is how many bytes an account of a tier may keep; 0 is no quota.
func (l Limits) StorageOf(tier account.Tier) int64 {
	if tier == account.Sandbox {
		return l.StoragePerSandbox
	}
	return l.StoragePerAccount
}

// UploadLimit is the most bytes that a video of this declared size may bring into an
// account of this tier. One whose size nobody knows may bring the largest video, and never
// more than a quarter of the quota, so that it does not keep the next one out.
func (l Limits) UploadLimit(tier account.Tier, declared *int64) int64 {
	limit := video.UploadLimit(declared)
	if quota := l.StorageOf(tier); quota > 0 && declared == nil {
		limit = min(limit, max(quota/unsizedShare, 1))
	}
	return limit
}

// StoredBytes is what an account of a tier keeps, what it was promised room for included.
func (s *Service) StoredBytes(ctx context.Context, accountID string, tier account.Tier) (int64, error) {
	if s.Storage == nil {
		return 0, nil
	}
	bytes, unsized, err := s.Storage.HeldBytes(ctx, accountID)
	return bytes + unsized*s.Limits.UploadLimit(tier, nil), err
}

// admitVideo refuses a new video that may bring the account over its storage quota. It runs
// in the account's lane, so that the videos of requests that come together count one by one;
// those that other nodes record in the same moment are not seen. Error: quota_exceeded.
func (s *Service) admitVideo(ss *session, caller Caller, declared *int64) error {
	if s.Storage == nil || s.Limits.StoragePerAccount == 0 && s.Limits.StoragePerSandbox == 0 {
		return nil
	}
	// The account's tier, not that of the key: a test key outlives the upgrade of its account.
	owner, err := accounts.get(ss, caller.AccountID)
	if err != nil {
		return err
	}
	quota := s.Limits.StorageOf(owner.Tier)
	if quota == 0 {
		return nil
	}
	used, err := s.StoredBytes(ss.ctx, caller.AccountID, owner.Tier)
	if err != nil {
		return err
	}
	for _, e := range ss.group {
		// New videos of this group are not in the read model yet.
		if v, ok := e.state.(video.State); ok && e.version == 0 && v.AccountID == caller.AccountID {
			used += s.Limits.UploadLimit(owner.Tier, v.DeclaredBytes)
		}
	}
	need := s.Limits.UploadLimit(owner.Tier, declared)
	if need <= quota-used {
		return nil
	}
	hint := "Delete videos to make room."
	if declared == nil {
		hint = "Delete videos to make room, or upload with size_bytes: a video of unknown size needs more room."
	}
	return storageExceeded(quota, used, fault.Newf(fault.QuotaExceeded,
		"The videos and open uploads of the account take %d of %d bytes, and this video may need %d. %s", used, quota, need, hint))
}

// checkStorage refuses a file that is larger than the account was promised room for. Its
// size was unknown until it was here. Error: quota_exceeded.
func (s *Service) checkStorage(tier account.Tier, declared *int64, size int64) error {
	if limit := s.Limits.UploadLimit(tier, declared); declared == nil && size > limit && limit < video.MaxBytes {
		return storageExceeded(limit, size, fault.Newf(fault.QuotaExceeded,
			"The video has %d bytes, and the account may keep %d.", size, limit))
	}
	return nil
}

func storageExceeded(limit, used int64, f *fault.Fault) error {
	return f.WithDetail("meter", StorageMeter).WithDetail("limit", limit).WithDetail("used", used).WithRetryAfter(storageRetryAfterS)
}

// tierOf is the tier of an account.
func (s *Service) tierOf(ctx context.Context, accountID string) (account.Tier, error) {
	in := intent{accountID: accountID, dryRun: true}
	in.streams = append(in.streams, accounts.Stream(accountID))
	var tier account.Tier
	err := s.Pipeline.do(ctx, in, func(ss *session) error {
		owner, err := accounts.get(ss, accountID)
		tier = owner.Tier
		return err
	})
	return tier, err
}
