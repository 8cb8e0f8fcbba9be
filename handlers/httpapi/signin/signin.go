package signin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

const (
	// maxForm is the largest body of a form in bytes.
	maxForm = 16 << 10
	// attemptsPerMinute bounds the attempts of an address to sign in.
	attemptsPerMinute = 10
)

// Reader reads the sessions of an account.
type Reader interface {
	// Sessions lists the sessions of an account that are active at a time, the newest 100, newest first.
	Sessions(ctx context.Context, accountID string, now time.Time) ([]account.Session, error)
	// SessionByID finds a session in any state.
	SessionByID(ctx context.Context, id string) (account.Session, bool, error)
	Passkeys(ctx context.Context, accountID string) (account.Passkeys, error)
}

// Options configure the pages. A field is required unless its comment says that it may be nil.
type Options struct {
	Service *command.Service
	Read    Reader
	Pages   *pages.Pages
	// Tokens issues the tokens of pages.
	Tokens *edge.SessionTokens
	// Provider is the OpenID provider, or nil.
	Provider Provider
	// TicketKey encrypts the state of a sign-in in the browser. It has 32 bytes, and all nodes share it.
	TicketKey []byte
	// PublicURL is the address of the service, without a trailing slash.
	PublicURL string
	// SameSite refuses forms of other sites.
	SameSite *http.CrossOriginProtection
	// Network returns the beginning of the address of a client, for the list of sessions.
	Network func(*http.Request) string
	Log     *slog.Logger
}

// Handler serves the pages. It implements edge.People.
type Handler struct {
	Options
	routes  *http.ServeMux
	tickets sealer
	// party checks passkeys. It is nil where browsers have none.
	party *webauthn.WebAuthn
}

// New returns the pages.
func New(o Options) (*Handler, error) {
	if o.Service == nil || o.Read == nil || o.Pages == nil || o.Tokens == nil || o.SameSite == nil || o.Network == nil || o.Log == nil || o.PublicURL == "" {
		return nil, errors.New("signin: an option is missing")
	}
	h := &Handler{Options: o, routes: http.NewServeMux()}
	var err error
	if h.tickets, err = newSealer(o.TicketKey, o.Service.Entropy); err != nil {
		return nil, err
	}
	if h.party, err = relyingParty(o.PublicURL); err != nil {
		return nil, err
	}
	h.route("GET "+edge.SignInPath, h.signInPage)
	h.route("POST "+edge.SignInPath+"/link", h.useLink)
	h.route("POST "+edge.SignOutPath, h.signOut)
	h.route("GET /account", func(w http.ResponseWriter, _ *http.Request) error { return seeOther(w, edge.SessionsPath) })
	h.route("GET "+edge.SessionsPath, h.account)
	h.route("POST "+edge.SessionsPath+"/revoke", h.revoke)
	h.route("POST "+edge.SessionTokenPath, h.token)
	h.routeProvider()
	h.routePasskeys()
	return h, nil
}

// route adds a handler. A request that changes something must come from a page of this service.
func (h *Handler) route(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
	h.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := h.checkSite(r)
		if err == nil {
			err = serve(w, r)
		}
		if err != nil {
			edge.WriteError(w, r, err)
		}
	})
}

func (h *Handler) checkSite(r *http.Request) error {
	if err := h.SameSite.Check(r); err != nil {
		return fault.New(fault.InsufficientScope, "This request was sent from another site. Open the page of this service and try again.").WithCause(err)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := h.routes.Handler(r); pattern == "" {
		edge.WriteError(w, r, fault.New(fault.ResourceNotFound, "This page does not exist, or it does not accept this method."))
		return
	}
	h.routes.ServeHTTP(w, r)
}

// Problem implements edge.People.
func (h *Handler) Problem(w http.ResponseWriter, r *http.Request, status int, f *fault.Fault) {
	message := f.Message
	for _, v := range f.Violations {
		message += " " + v.Param + ": " + v.Message + "."
	}
	p, err := h.Pages.Problem(pages.Problem{
		Message: message, SignIn: status == http.StatusUnauthorized || status == http.StatusConflict, RequestID: edge.ExchangeOf(r.Context()).RequestID,
	})
	if err != nil {
		h.Log.ErrorContext(r.Context(), "cannot render the page of a problem", "error", err)
		http.Error(w, f.Message, status)
		return
	}
	if f.RetryAfterS > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfterS))
	}
	h.write(w, status, p)
}

func (h *Handler) write(w http.ResponseWriter, status int, p pages.Page) {
	for name, value := range p.Headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// A failed write cannot be reported: the status is sent already.
	_, _ = io.Copy(w, bytes.NewReader(p.HTML))
}

// seeOther redirects to a path of this service. The caller has checked it. http.Redirect would change the path.
func seeOther(w http.ResponseWriter, path string) error {
	w.Header().Set("Location", path)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// form reads the body of a form. Each field must be given once. Errors: unsupported_media_type, payload_too_large,
// validation_failed.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, fault.New(fault.UnsupportedMediaType, "The content type must be application/x-www-form-urlencoded.")
	}
	raw, err := body(w, r)
	if err != nil {
		return nil, err
	}
	fields, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, fault.Invalid(fault.Violation{Code: fault.Format, Message: "The body is not valid form data."})
	}
	for name, values := range fields {
		if len(values) > 1 {
			return nil, fault.Invalid(fault.Violation{Param: name, Code: fault.Exclusive, Message: "must be given only once"})
		}
	}
	return fields, nil
}

// body reads the body of a request.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, fault.Newf(fault.PayloadTooLarge, "The body is larger than %d bytes.", maxForm)
	}
	if err != nil {
		return nil, fault.Invalid(fault.Violation{Code: fault.Format, Message: "The body did not arrive completely."}).WithCause(err)
	}
	return raw, nil
}

// browser describes the client of a request for the list of sessions.
func (h *Handler) browser(r *http.Request) command.Browser {
	return command.Browser{Name: browserName(r.UserAgent()), Network: h.Network(r), RequestID: edge.ExchangeOf(r.Context()).RequestID}
}

// signedIn ends the earlier session of the browser and signs it in with a new one. It ends the oldest sessions of an
// account that has too many.
func (h *Handler) signedIn(r *http.Request, opened command.OpenedSession) {
	x := edge.ExchangeOf(r.Context())
	if earlier, err := x.SignIn(); err == nil && x.OwnSession().Exists() {
		if err := h.Service.EndSession(r.Context(), earlier, x.OwnSession().ID); err != nil {
			h.Log.WarnContext(r.Context(), "cannot end the earlier session of a browser", "session_id", x.OwnSession().ID, "error", err)
		}
	}
	x.SetSession(opened)
	if err := h.endOldest(r.Context(), opened); err != nil {
		h.Log.WarnContext(r.Context(), "cannot end the oldest sessions of an account; its next sign-in does", "account_id", opened.AccountID, "error", err)
	}
}

// endOldest ends the sessions of an account beyond account.MaxSessions. Sign-ins at the same time may each leave one
// too many; the next sign-in ends them.
func (h *Handler) endOldest(ctx context.Context, opened command.OpenedSession) error {
	sessions, err := h.Read.Sessions(ctx, opened.AccountID, h.Service.Now())
	if err != nil {
		return err
	}
	caller := command.Caller{AccountID: opened.AccountID, Livemode: true, RequestID: edge.ExchangeOf(ctx).RequestID}
	for _, s := range sessions[min(len(sessions), account.MaxSessions):] {
		if s.ID == opened.ID {
			continue
		}
		if err := h.Service.RevokeSession(ctx, caller, s.ID); err != nil {
			return err
		}
	}
	return nil
}
