package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
)

// NewPasskey is a passkey that a signed-in person registers. Its fields are those of
// account.PasskeyRegistered.
type NewPasskey struct {
	CredentialID, PublicKey string
	SignCount               int64
	BackupEligible          bool
	Browser                 string
}

// RegisterPasskey adds a passkey to the caller's account. The caller has verified it. Error: resource_conflict
// for one too many or one that is known.
func (s *Service) RegisterPasskey(ctx context.Context, caller Caller, p NewPasskey) error {
	c := account.RegisterPasskey{
		AccountID: caller.AccountID, PasskeyID: s.IDs.New(id.Passkey), CredentialID: p.CredentialID, PublicKey: p.PublicKey,
		SignCount: p.SignCount, BackupEligible: p.BackupEligible, Browser: p.Browser,
	}
	return s.changePasskeys(ctx, caller, c)
}

// RemovePasskey removes a passkey of the caller's account. Error: resource_not_found.
func (s *Service) RemovePasskey(ctx context.Context, caller Caller, passkeyID string) error {
	return s.changePasskeys(ctx, caller, account.RemovePasskey{AccountID: caller.AccountID, PasskeyID: passkeyID})
}

func (s *Service) changePasskeys(ctx context.Context, caller Caller, c account.PasskeyCommand) error {
	return s.Pipeline.do(ctx, caller.intent(passkeys.Stream(caller.AccountID)), func(ss *session) error {
		_, err := passkeys.record(ss, caller.AccountID, c)
		return err
	})
}

// UsedPasskey is a passkey whose signature was verified.
type UsedPasskey struct {
	AccountID, PasskeyID string
	SignCount            int64
	// Proof is the challenge that the passkey signed. It opens one session.
	Proof string
}

// OpenPasskeySession opens a session for the owner of a passkey. Errors: resource_conflict for a proof that was
// used, resource_not_found for a passkey that was removed, invalid_api_key for one whose counter did not
// grow, account_restricted.
func (s *Service) OpenPasskeySession(ctx context.Context, p UsedPasskey, from Browser) (OpenedSession, error) {
	o, err := s.newSession(p.AccountID, account.SessionIDFor(p.Proof), account.ByPasskey, from)
	if err != nil {
		return OpenedSession{}, err
	}
	in := o.caller.intent(passkeys.Stream(p.AccountID), accounts.Stream(p.AccountID), personSessions.Stream(o.open.SessionID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		used := account.UsePasskey{AccountID: p.AccountID, PasskeyID: p.PasskeyID, SignCount: p.SignCount, SessionID: o.open.SessionID}
		if _, err := passkeys.record(ss, p.AccountID, used); err != nil {
			return err
		}
		a, err := accounts.get(ss, p.AccountID)
		if err != nil {
			return err
		}
		if a.RestrictedAt != nil {
			return fault.New(fault.AccountRestricted, "")
		}
		o.opened.Session, err = personSessions.record(ss, o.open.SessionID, o.open)
		return err
	})
	return o.opened, err
}
