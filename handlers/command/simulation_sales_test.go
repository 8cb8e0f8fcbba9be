package command

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore/fold"
)

// moneyOperation is an operator's change of a balance.
func (s *sim) moneyOperation(accountID string) operation {
	if s.random.IntN(30) == 0 {
		accountID = "acct_none"
	}
	o := operation{key: s.newKey(), scope: "operator"}
	about := func(request string, key *Idempotency) CreditChange {
		return CreditChange{AccountID: accountID, Operator: "sim", RequestID: request, Idempotency: key}
	}
	unknown := func(m moments) bool {
		return sometime(m, fold.Account, accountID, func(a account.State) bool { return !a.Exists() })
	}
	if s.random.IntN(3) == 0 {
		return s.refundOperation(o, accountID, about)
	}
	kind := []credit.Kind{credit.Purchase, credit.Adjustment, credit.Adjustment, credit.CardGrant}[s.random.IntN(4)]
	seconds := int64(s.random.IntN(50) - 5)
	if kind == credit.Adjustment {
		seconds = int64(s.random.IntN(80) - 50)
	}
	o.name, o.leaves = string(kind)+" for "+accountID, []string{"credit.granted"}
	o.refused = func(m moments, code fault.Code) bool {
		switch code {
		case fault.ResourceNotFound:
			return unknown(m)
		case fault.ValidationFailed:
			return seconds == 0 || seconds < 0 && kind != credit.Adjustment
		case fault.InsufficientCredits:
			return sometime(m, fold.Credit, accountID, func(b credit.State) bool { return b.AvailableSeconds()+seconds < 0 })
		}
		return false
	}
	o.run = func(ctx context.Context, svc *Service, request string, key *Idempotency) outcome {
		return postedOutcome(svc.GrantCredits(ctx, GrantCredits{CreditChange: about(request, key), Kind: kind, Seconds: seconds}))
	}
	return o
}

func postedOutcome(p Posted, err error) outcome {
	return outcome{resource: p.TransactionID, replayed: p.Repeated, err: err}
}

// refundOperation refunds a transaction, which may be missing in the account.
func (s *sim) refundOperation(o operation, accountID string, about func(string, *Idempotency) CreditChange) operation {
	original := credit.Original{TransactionID: "txn_none"}
	if all := s.oracle.transactions[accountID]; len(all) > 0 {
		original = all[max(0, len(all)-1-s.random.IntN(6))]
	}
	seconds := []int64{0, 1, 5, 20}[s.random.IntN(4)]
	o.name, o.leaves = "refund "+original.TransactionID, []string{"credit.refunded"}
	debit := original.Kind == credit.AnalysisDebit
	o.refused = func(m moments, code fault.Code) bool {
		switch code {
		case fault.ResourceNotFound:
			return original.TransactionID == "txn_none"
		case fault.ValidationFailed:
			if original.Kind == credit.Adjustment {
				return true
			}
		}
		return sometime(m, fold.Credit, accountID, func(b credit.State) bool {
			left := b.RefundableSeconds(original)
			wanted := seconds
			if wanted == 0 {
				wanted = left
			}
			switch code {
			case fault.ResourceConflict:
				return left <= 0
			case fault.ValidationFailed:
				return wanted > left
			case fault.InsufficientCredits:
				return !debit && wanted > b.AvailableSeconds()
			}
			return false
		})
	}
	o.run = func(ctx context.Context, svc *Service, request string, key *Idempotency) outcome {
		return postedOutcome(svc.RefundCredits(ctx, RefundCredits{
			CreditChange: about(request, key), TransactionID: original.TransactionID, Seconds: seconds,
		}))
	}
	return o
}

// keyOperation issues, rotates or revokes an API key, opens or upgrades a sandbox, or restricts an
// account.
func (s *sim) keyOperation(accountID string) operation {
	o := operation{}
	unknown := func(m moments, code fault.Code) bool {
		return code == fault.ResourceNotFound && sometime(m, fold.Account, accountID, func(a account.State) bool { return !a.Exists() })
	}
	switch s.random.IntN(8) {
	case 0:
		o.name, o.leaves = "open an account", []string{"account.key_issued account.opened credit.granted"}
		o.run = issue(NewKey{Mode: account.Live, Tier: account.Paid, Name: "sim", GrantSeconds: 30, Operator: "sim"})
	case 1:
		if s.random.IntN(4) == 0 {
			accountID = "acct_none"
		}
		o.name, o.leaves, o.refused = "issue a live key", []string{"account.key_issued"}, unknown
		o.run = issue(NewKey{AccountID: accountID, Mode: account.Live, Name: "sim", Operator: "sim"})
	case 2:
		o.name, o.leaves, o.refused = "issue a test key", []string{"account.key_issued video.ready video.registered"}, unknown
		o.run = issue(NewKey{AccountID: accountID, Mode: account.Test, Name: "sim", Operator: "sim"})
	case 3:
		o.name, o.leaves = "open a sandbox", []string{"account.key_issued account.opened sandbox.issued video.ready video.registered"}
		o.refused = func(m moments, code fault.Code) bool {
			return code == fault.SandboxLimitExceeded && sometime(m, fold.Sandbox, "address", func(q account.SandboxQuota) bool {
				recent := 0
				for _, t := range q.IssuedAt {
					if m.began.Sub(t) < account.SandboxWindow {
						recent++
					}
				}
				return recent >= sandboxesMost
			})
		}
		o.run = func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
			key, err := svc.IssueSandbox(ctx, Caller{RequestID: request}, "address")
			return outcome{resource: key.AccountID, err: err}
		}
	case 4:
		return s.rotateOperation(accountID)
	case 5:
		return s.restrictOperation(accountID)
	case 6:
		return s.upgradeOperation(accountID)
	default:
		return s.revokeOperation(accountID)
	}
	return o
}

func issue(c NewKey) func(context.Context, *Service, string, *Idempotency) outcome {
	return func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
		c := c
		c.RequestID = request
		key, err := svc.IssueKey(ctx, c)
		return outcome{resource: key.KeyID, err: err}
	}
}

func (s *sim) revokeOperation(accountID string) operation {
	keyID := s.someKey(accountID)
	return operation{
		name: "revoke " + keyID, leaves: []string{"account.key_revoked"},
		refused: func(m moments, code fault.Code) bool {
			return code == fault.ResourceNotFound && sometime(m, fold.Account, accountID, func(a account.State) bool {
				_, known := a.Keys[keyID]
				return !known
			})
		},
		idle: func(m moments) bool {
			return sometime(m, fold.Account, accountID, func(a account.State) bool { return a.Keys[keyID].RevokedAt != nil })
		},
		run: func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
			return outcome{err: svc.RevokeKey(ctx, accountID, keyID, "sim", request)}
		},
	}
}

// videoOperation registers, completes, fetches or deletes a video.
func (s *sim) videoOperation(caller Caller) operation {
	own := func(v video.State) bool { return owns(caller, v) }
	id := s.pickVideo(caller.AccountID)
	fetch := Fetch{AccountID: latest(s.oracle, fold.Video, id).AccountID, VideoID: id, Attempt: 1}
	switch p := s.random.IntN(10); {
	case p < 3:
		o := operation{name: "register a video", leaves: []string{"video.registered"}}
		c := CreateVideo{ContentType: "video/mp4"}
		if p == 0 {
			c = CreateVideo{URL: ptr("https://example.org/v.mp4")}
		}
		return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
			v, err := svc.CreateVideo(ctx, caller, c)
			return v.ID, err
		})
	case p < 6:
		return s.completeOperation(caller, id, own)
	case p < 8:
		o := operation{name: "remove " + id, leaves: []string{"video.deleted"}}
		o.refused = func(m moments, code fault.Code) bool {
			return sometime(m, fold.Video, id, func(v video.State) bool {
				inUse := len(v.OpenAnalyses) > 0 || v.Fixture
				return code == fault.ResourceNotFound && !own(v) || code == fault.ResourceConflict && own(v) && inUse
			})
		}
		return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
			return "", svc.DeleteVideo(ctx, caller, id)
		})
	case p == 8:
		return fetchOperation("fetched ", fetch, func(ctx context.Context, svc *Service, f Fetch) error {
			_, err := svc.FinishFetch(ctx, f, fileOf(id, "video/mp4"))
			return err
		})
	default:
		return fetchOperation("cannot fetch ", fetch, func(ctx context.Context, svc *Service, f Fetch) error {
			return svc.FailVideo(ctx, f, errUpload)
		})
	}
}

func (s *sim) completeOperation(caller Caller, id string, own func(video.State) bool) operation {
	o := operation{name: "complete " + id, leaves: []string{"video.ready"}}
	o.idle = func(m moments) bool {
		return sometime(m, fold.Video, id, func(v video.State) bool { return own(v) && ready(v) })
	}
	o.refused = func(m moments, code fault.Code) bool {
		return sometime(m, fold.Video, id, func(v video.State) bool {
			switch code {
			case fault.ResourceNotFound:
				return !own(v)
			case fault.ResourceConflict:
				return own(v) && v.Status != video.AwaitingUpload && !ready(v)
			case fault.UploadIncomplete: // or the probe failed
				return own(v) && v.Status == video.AwaitingUpload && (s.broken > 0 || !m.ended.Before(*v.ExpiresAt))
			case fault.VideoTooLong:
				file := fileOf(id, "")
				return own(v) && file.DurationMicros != nil && time.Duration(*file.DurationMicros)*time.Microsecond > 4*time.Hour
			}
			return false
		})
	}
	return s.asCaller(o, caller, func(ctx context.Context, svc *Service, caller Caller) (string, error) {
		_, err := svc.CompleteVideo(ctx, caller, id)
		return "", err
	})
}

// fetchOperation is the report of a fetcher. It is ignored when the video has left the state processing.
func fetchOperation(name string, f Fetch, report func(context.Context, *Service, Fetch) error) operation {
	return operation{
		name: name + f.VideoID, leaves: []string{"video.ready", "video.failed"},
		idle: func(m moments) bool {
			return sometime(m, fold.Video, f.VideoID, func(v video.State) bool {
				return v.Status != video.AwaitingUpload && v.Status != video.Processing
			})
		},
		run: func(ctx context.Context, svc *Service, request string, _ *Idempotency) outcome {
			f := f
			f.Cause = Cause{RequestID: request}
			return outcome{err: report(ctx, svc, f)}
		},
	}
}
