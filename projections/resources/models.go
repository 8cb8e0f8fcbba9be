package resources

import (
	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/video"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// Projections are the tables of this package.
func Projections() []projections.Projection {
	return []projections.Projection{
		accounts, keys, clientTokens, deviceCodes, videos, analyses, liveStreams, webhookEndpoints, incidents, sessions, passkeys, agentClients, agentGrants,
	}
}

// accounts leaves out the keys. They have their own table, so that the row of an account
// does not grow with them.
var accounts = projections.Model[account.State, account.Event]{
	Name: "accounts", Of: fold.Account, Revision: 1, AccountColumn: "id",
	States: func(id string, s account.State) []projections.Row {
		s.Keys = nil
		return []projections.Row{{ID: id, Doc: s}}
	},
}

var videos = projections.Model[video.State, video.Event]{
	Name: "videos", Of: fold.Video, Revision: 2, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "livemode", Type: "boolean"}, {Name: "status", Type: "text"},
		{Name: "expires_at", Type: "timestamptz"}, {Name: "created_at", Type: "timestamptz"},
		{Name: "held_bytes", Type: "bigint"}, {Name: "unsized", Type: "boolean"},
	},
	States: func(id string, s video.State) []projections.Row {
		held, known := s.HeldBytes()
		return []projections.Row{{
			ID: id, Values: []any{s.AccountID, s.Livemode, string(s.Status), s.ExpiresAt, &s.CreatedAt, held, !known}, Doc: s,
		}}
	},
}

var analyses = projections.Model[analysis.State, analysis.Event]{
	Name: "analyses", Of: fold.Analysis, Revision: 2, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "livemode", Type: "boolean"}, {Name: "video_id", Type: "text"},
		{Name: "model", Type: "text"}, {Name: "status", Type: "text"}, {Name: "batch_id", Type: "text"},
		{Name: "afterwork", Type: "boolean"}, {Name: "created_at", Type: "timestamptz"},
	},
	States: func(id string, s analysis.State) []projections.Row {
		return []projections.Row{{
			ID: id, Values: []any{
				s.AccountID, s.Livemode, s.VideoID, s.Model, string(s.Status), s.BatchID, s.Drawing || s.Narrating(), &s.CreatedAt,
			}, Doc: s,
		}}
	},
}
