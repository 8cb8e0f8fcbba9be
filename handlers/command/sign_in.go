package command

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore/fold"
)

// OperatorIssuer and operatorSubject are the person behind the one-time links of an installation. An
// OpenID provider has an http or https URL, so it cannot state this issuer.
const (
	OperatorIssuer  = "urn:vqa:installation"
	operatorSubject = "operator"
)

// OperatorAccount is the account of the person behind the one-time links. The key of the command line
// belongs to it, too, so both have one balance.
func OperatorAccount() string { return account.OwnedID(OperatorIssuer, operatorSubject) }

var operatorSignUp = account.SignUp{AccountID: OperatorAccount(), Owner: account.OwnerHash(OperatorIssuer, operatorSubject)}

// openOperator opens the account of the operator at its first use, with the grant of a new account.
func (s *Service) openOperator(ss *session) error {
	a, err := accounts.get(ss, operatorSignUp.AccountID)
	if err != nil || a.Exists() {
		return err
	}
	if _, err := accounts.record(ss, operatorSignUp.AccountID, operatorSignUp); err != nil || s.Limits.SignupGrantSeconds == 0 {
		return err
	}
	_, err = credits.record(ss, operatorSignUp.AccountID, credit.Grant{
		AccountID: operatorSignUp.AccountID, TransactionID: s.IDs.New(id.Transaction), Kind: credit.SignupGrant, Seconds: s.Limits.SignupGrantSeconds,
	})
	return err
}

var (
	personSessions = aggregate[account.Session, account.SessionCommand, account.SessionEvent]{
		Of: fold.Session, decide: account.DecideSession, snapshots: true,
	}
	signInLinks = aggregate[account.SignInLink, account.SignInLinkCommand, account.SignInLinkEvent]{
		Of: fold.SignInLink, decide: account.DecideSignInLink,
	}
	passkeys = aggregate[account.Passkeys, account.PasskeyCommand, account.PasskeyEvent]{
		Of: fold.Passkeys, decide: account.DecidePasskeys, snapshots: true,
	}
)

// Browser is the client of a sign-in. Name and Network are shown in the list of sessions
// (account.SessionOpened).
type Browser struct{ Name, Network, RequestID string }

// OpenedSession is a new session with its secret.
type OpenedSession struct {
	account.Session
	// Secret is the value of the cookie. It is returned only here. The log has its hash.
	Secret string
}

// Person is a person as the OpenID provider states them.
type Person struct {
	Issuer, Subject string
	// Email is an address that the issuer has verified, or empty.
	Email string
	// Proof is the state of the redirect. It opens one session.
	Proof string
}

// OpenPersonSession opens a session for a person who signed in at the OpenID provider. The first session of a person
// also opens the account.
// Errors: resource_conflict for a proof that was used, account_restricted.
func (s *Service) OpenPersonSession(ctx context.Context, p Person, from Browser) (OpenedSession, error) {
	o, err := s.newSession(account.OwnedID(p.Issuer, p.Subject), account.SessionIDFor(p.Proof), account.ByProvider, from)
	if err != nil {
		return OpenedSession{}, err
	}
	signUp := account.SignUp{AccountID: o.open.AccountID, Owner: account.OwnerHash(p.Issuer, p.Subject), Email: p.Email}
	in := o.caller.intent(accounts.Stream(o.open.AccountID), personSessions.Stream(o.open.SessionID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error { return o.record(ss, signUp) })
	return o.opened, err
}

// CreateSignInLink creates a one-time link for the operator and returns its secret.
func (s *Service) CreateSignInLink(ctx context.Context, operator, requestID string) (secret string, expires time.Time, err error) {
	if secret, err = account.NewSessionSecret(s.Entropy); err != nil {
		return "", time.Time{}, err
	}
	hash := account.HashSecret(secret)
	err = s.Pipeline.do(ctx, s.operatorIntent(OperatorAccount(), operator, requestID), func(ss *session) error {
		ss.fresh(signInLinks.Stream(hash))
		l, err := signInLinks.record(ss, hash, account.CreateSignInLink{Hash: hash})
		expires = l.ExpiresAt
		return err
	})
	return secret, expires, err
}

// UseSignInLink opens a session of the operator. Errors: invalid_api_key for a link that is not valid,
// account_restricted.
func (s *Service) UseSignInLink(ctx context.Context, secret string, from Browser) (OpenedSession, error) {
	hash := account.HashSecret(secret)
	o, err := s.newSession(OperatorAccount(), s.IDs.New(id.Session), account.ByLink, from)
	if err != nil {
		return OpenedSession{}, err
	}
	in := o.caller.intent(signInLinks.Stream(hash), accounts.Stream(o.open.AccountID), credits.Stream(o.open.AccountID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		ss.fresh(personSessions.Stream(o.open.SessionID))
		if _, err := signInLinks.record(ss, hash, account.UseSignInLink{SessionID: o.open.SessionID}); err != nil {
			return err
		}
		if err := s.openOperator(ss); err != nil {
			return err
		}
		return o.record(ss, operatorSignUp)
	})
	return o.opened, err
}

// opening is a session that is about to be opened.
type opening struct {
	caller Caller
	open   account.OpenSession
	opened OpenedSession
}

func (s *Service) newSession(accountID, sessionID string, method account.SignInMethod, from Browser) (*opening, error) {
	secret, err := account.NewSessionSecret(s.Entropy)
	if err != nil {
		return nil, err
	}
	return &opening{
		caller: Caller{AccountID: accountID, Livemode: true, RequestID: from.RequestID},
		open: account.OpenSession{
			SessionID: sessionID, AccountID: accountID, SecretHash: account.HashSecret(secret), Method: method,
			Browser: from.Name, Network: from.Network,
		},
		opened: OpenedSession{Secret: secret},
	}, nil
}

// record opens the account, if it is new, and the session. Error: account_restricted.
func (o *opening) record(ss *session, signUp account.SignUp) error {
	a, err := accounts.record(ss, o.open.AccountID, signUp)
	if err != nil {
		return err
	}
	if a.RestrictedAt != nil {
		return fault.New(fault.AccountRestricted, "")
	}
	o.opened.Session, err = personSessions.record(ss, o.open.SessionID, o.open)
	return err
}

// RefreshSession records a use of a session. It is idempotent.
func (s *Service) RefreshSession(ctx context.Context, used account.Session, requestID string) error {
	return s.changeSession(ctx, Caller{AccountID: used.AccountID, RequestID: requestID, Livemode: true}, used.ID, account.RefreshSession{})
}

// EndSession signs a person out. It is idempotent. Error: resource_not_found.
func (s *Service) EndSession(ctx context.Context, caller Caller, sessionID string) error {
	return s.changeSession(ctx, caller, sessionID, account.EndSession{})
}

// RevokeSession ends another session of the caller's account. It is idempotent. Error: resource_not_found, also
// for a session of another account.
func (s *Service) RevokeSession(ctx context.Context, caller Caller, sessionID string) error {
	return s.changeSession(ctx, caller, sessionID, account.RevokeSession{AccountID: caller.AccountID})
}

func (s *Service) changeSession(ctx context.Context, caller Caller, sessionID string, c account.SessionCommand) error {
	return s.Pipeline.do(ctx, caller.intent(personSessions.Stream(sessionID)), func(ss *session) error {
		_, err := personSessions.record(ss, sessionID, c)
		return err
	})
}

// RevokeAnySession ends a session for an operator. It is idempotent. Error: resource_not_found.
func (s *Service) RevokeAnySession(ctx context.Context, of account.Session, operator, requestID string) error {
	in := s.operatorIntent(of.AccountID, operator, requestID)
	in.streams = append(in.streams, personSessions.Stream(of.ID))
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := personSessions.record(ss, of.ID, account.RevokeSession{})
		return err
	})
}
