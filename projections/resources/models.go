package resources

import (
	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/projections"
)

// Projections are the tables of this package.
func Projections() []projections.Projection {
	return []projections.Projection{accounts, keys, videos, analyses}
}

// accounts leaves the keys out: they have a table of their own, and an account's row
// must not grow with them.
var accounts = projections.Model[account.State]{
	Name: "accounts",
	Key: func(r eventstore.Recorded) (string, bool) {
		_, ok := r.Event.(account.Opened)
		return r.Stream.ID, ok
	},
	Fold: func(s account.State, r eventstore.Recorded) account.State {
		return account.Evolve(s, r.Event.(account.Event))
	},
	Values: func(account.State) []any { return nil },
}

var keys = projections.Model[account.Key]{
	Name:    "api_keys",
	Columns: []string{"account_id", "secret_hash"},
	Key: func(r eventstore.Recorded) (string, bool) {
		switch e := r.Event.(type) {
		case account.KeyIssued:
			return e.KeyID, true
		case account.KeyRevoked:
			return e.KeyID, true
		}
		return "", false
	},
	Born: func(r eventstore.Recorded) bool {
		_, ok := r.Event.(account.KeyIssued)
		return ok
	},
	Fold: func(k account.Key, r eventstore.Recorded) account.Key {
		return account.EvolveKey(k, r.Event.(account.Event))
	},
	Values: func(k account.Key) []any { return []any{k.AccountID, k.SecretHash} },
}

var videos = projections.Model[video.State]{
	Name:    "videos",
	Columns: []string{"account_id", "livemode", "status", "expires_at", "created_at"},
	Key: func(r eventstore.Recorded) (string, bool) {
		_, ok := r.Event.(video.Event)
		return r.Stream.ID, ok
	},
	Fold: func(s video.State, r eventstore.Recorded) video.State { return video.Evolve(s, r.Event.(video.Event)) },
	Values: func(s video.State) []any {
		return []any{s.AccountID, s.Livemode, string(s.Status), s.ExpiresAt, s.CreatedAt}
	},
}

var analyses = projections.Model[analysis.State]{
	Name:    "analyses",
	Columns: []string{"account_id", "livemode", "video_id", "model", "status", "created_at"},
	Key: func(r eventstore.Recorded) (string, bool) {
		_, ok := r.Event.(analysis.Event)
		return r.Stream.ID, ok
	},
	Fold: func(s analysis.State, r eventstore.Recorded) analysis.State {
		return analysis.Evolve(s, r.Event.(analysis.Event))
	},
	Values: func(s analysis.State) []any {
		return []any{s.AccountID, s.Livemode, s.VideoID, s.Model, string(s.Status), s.CreatedAt}
	},
}
