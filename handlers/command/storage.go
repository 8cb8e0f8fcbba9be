package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/video"
)

// StorageMeter is the meter of the storage quota (docs/contract.md#meters).
const StorageMeter = "storage_bytes"

// storageRetryAfterS is the Retry-After of a refusal, in seconds. Space becomes free when the
// account deletes videos or its open uploads end.
const storageRetryAfterS = 3600

// unsizedShare is the least number of videos of unknown size that fit into a quota.
const unsizedShare = 4

// Storage reports how many bytes accounts store.
type Storage interface {
	// HeldBytes returns the bytes of the account's videos and recordings plus the declared bytes of its open
	// uploads. unsized counts the open uploads and fetches of unknown size.
	HeldBytes(ctx context.Context, accountID string) (bytes, unsized int64, err error)
}

// StorageOf returns the bytes that an account of a tier may store. 0 means no quota.
func (l Limits) StorageOf(tier account.Tier) int64 {
	if tier == account.Sandbox {
		return l.StoragePerSandbox
	}
	return l.StoragePerAccount
}

// UploadLimit returns the most bytes that a video of this declared size may have in an account of
// this tier. Without a declared size it is the size of the largest video, but at most a quarter
// of the quota. So one video of unknown size does not block the next.
func (l Limits) UploadLimit(tier account.Tier, declared *int64) int64 {
	limit := video.UploadLimit(declared)
	if quota := l.StorageOf(tier); quota > 0 && declared == nil {
		limit = min(limit, max(quota/unsizedShare, 1))
	}
	return limit
}

// StoredBytes returns the bytes that an account stores plus those reserved for its open uploads
// and fetches.
func (s *Service) StoredBytes(ctx context.Context, accountID string, tier account.Tier) (int64, error) {
	if s.Storage == nil {
		return 0, nil
	}
	bytes, unsized, err := s.Storage.HeldBytes(ctx, accountID)
	return bytes + unsized*s.Limits.UploadLimit(tier, nil), err
}

// admitVideo refuses a new video that may exceed the account's storage quota. It runs in the
// account's lane, so that simultaneous requests on this node are counted one after another.
// Videos that another node records at the same moment are not counted. Error: quota_exceeded.
func (s *Service) admitVideo(ss *session, caller Caller, declared *int64) error {
	if s.Storage == nil || s.Limits.StoragePerAccount == 0 && s.Limits.StoragePerSandbox == 0 {
		return nil
	}
	// The account's tier counts and not the key's: a test key remains after the upgrade.
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
		// The read model does not have the new videos of this group yet.
		if v, ok := e.state.(video.State); ok && e.version == 0 && v.AccountID == caller.AccountID {
			used += s.Limits.UploadLimit(owner.Tier, v.DeclaredBytes)
		}
	}
	need := s.Limits.UploadLimit(owner.Tier, declared)
	if need <= quota-used {
		return nil
	}
	hint := "Delete videos to free space."
	if declared == nil {
		hint = "Delete videos to free space, or set size_bytes: a video of unknown size reserves more space."
	}
	return storageExceeded(quota, used, fault.Newf(fault.QuotaExceeded,
		"The videos and open uploads of the account use %d of %d bytes, and this video may need %d. %s", used, quota, need, hint))
}

// RecordingLimit returns the bytes that the recording of a new stream may have. A recording is stored as two files, so
// it is half of the room that the quota leaves. bounded is false when there is no quota. Error: quota_exceeded when
// nothing is left.
func (s *Service) RecordingLimit(ctx context.Context, accountID string) (bytes int64, bounded bool, err error) {
	if s.Storage == nil {
		return 0, false, nil
	}
	tier, err := s.tierOf(ctx, accountID)
	quota := s.Limits.StorageOf(tier)
	if err != nil || quota == 0 {
		return 0, false, err
	}
	used, err := s.StoredBytes(ctx, accountID, tier)
	if err != nil {
		return 0, true, err
	}
	if used >= quota {
		return 0, true, storageExceeded(quota, used, fault.Newf(fault.QuotaExceeded,
			"The videos and recordings of the account use %d of %d bytes. Delete videos to free space, or create the stream without `recording`.", used, quota))
	}
	return (quota - used) / 2, true, nil
}

// checkStorage refuses a file of undeclared size that is larger than the space reserved for it.
// Error: quota_exceeded.
func (s *Service) checkStorage(tier account.Tier, declared *int64, size int64) error {
	if limit := s.Limits.UploadLimit(tier, declared); declared == nil && size > limit && limit < video.MaxBytes {
		return storageExceeded(limit, size, fault.Newf(fault.QuotaExceeded,
			"The video has %d bytes. Without a declared size, a video of this account may have at most %d.", size, limit))
	}
	return nil
}

func storageExceeded(limit, used int64, f *fault.Fault) error {
	return f.WithDetail("meter", StorageMeter).WithDetail("limit", limit).WithDetail("used", used).WithRetryAfter(storageRetryAfterS)
}

// tierOf returns the tier of an account.
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
