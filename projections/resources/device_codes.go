package resources

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"vqa/domain/account"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// deviceCodes also keeps decided and expired codes, so that they can be distinguished from
// unknown ones.
var deviceCodes = projections.Model[account.DeviceCode, account.DeviceCodeEvent]{
	Name: "device_codes", Of: fold.DeviceCode, Revision: 1, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "user_code_hash", Type: "text"}, {Name: "status", Type: "text"},
		{Name: "expires_at", Type: "timestamptz"},
	},
	States: func(id string, d account.DeviceCode) []projections.Row {
		return []projections.Row{{ID: id, Values: []any{d.AccountID, d.UserCodeHash, string(d.Status), &d.ExpiresAt}, Doc: d}}
	},
}

// DeviceCode finds a device code by its hash, in any state.
func (r *Reader) DeviceCode(ctx context.Context, hash string) (account.DeviceCode, bool, error) {
	return r.deviceCode(ctx, "select doc from device_codes where id = $1", hash)
}

// DeviceCodeOfUser finds a device code by the hash of its user code in the normal form, in
// any state. If several match, it returns the one that expires last.
func (r *Reader) DeviceCodeOfUser(ctx context.Context, userCodeHash string) (account.DeviceCode, bool, error) {
	return r.deviceCode(ctx,
		"select doc from device_codes where user_code_hash = $1 order by expires_at desc limit 1", userCodeHash)
}

func (r *Reader) deviceCode(ctx context.Context, sql, hash string) (account.DeviceCode, bool, error) {
	d, err := one[account.DeviceCode](ctx, r.pool, sql, hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.DeviceCode{}, false, nil
	}
	return d, err == nil, err
}
