package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
)

// The paths of the pages on which people sign in and see their sessions. They are for browsers and not in
// the contract.
const (
	SignInPath       = "/signin"
	SignOutPath      = "/signout"
	SessionsPath     = "/account/sessions"
	SessionTokenPath = "/session/token"
)

// peopleOperation stands for these pages in the log and in metrics.
var peopleOperation = &operation{id: "people", path: SignInPath}

// People serves the pages of people.
type People interface {
	http.Handler
	// Problem answers the request of a browser with a page about a fault. It sets no headers of rate limits.
	Problem(w http.ResponseWriter, r *http.Request, status int, f *fault.Fault)
}

// ofPeople reports whether a path belongs to People.
func ofPeople(path string) bool {
	for _, own := range []string{SignInPath, SignOutPath, SessionsPath, "/account/passkeys", SessionTokenPath} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return true
		}
	}
	return path == "/account"
}

// servePeople passes a request to the pages of people. It counts for its address. Error: rate_limit_exceeded.
func (e *Edge) servePeople(x *Exchange, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), e.RequestTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	x.operation, x.Request = peopleOperation, r
	kind, err := classOf(r.Method, "")
	if err == nil {
		err = e.admit(x, r, kind, nil)
	}
	if err != nil {
		return err
	}
	x.response.Header().Set("Cache-Control", "no-store")
	e.People.ServeHTTP(x.response, r)
	return nil
}

// CountAttempt counts an attempt of the client at a step of a sign-in, in a window that all nodes share. Errors:
// rate_limit_exceeded, db_unavailable.
func (x *Exchange) CountAttempt(step string, limit int) error {
	now := x.edge.Service.Now()
	count, granted, err := x.edge.Windows.Take(x.Request.Context(), step+"/"+x.edge.Address(x.Request), limit, now)
	if err != nil {
		return err
	}
	if !granted {
		return fault.New(fault.RateLimitExceeded, "Too many attempts to sign in. Wait a minute, then try again.").
			WithRetryAfter(int(ceilSeconds(count.Wait(limit, now))))
	}
	return nil
}

// secureCookies reports whether browsers reach the service over https.
func (e *Edge) secureCookies() bool { return strings.HasPrefix(e.PublicURL, "https://") }

// Cookie returns a cookie of the service with a value for the whole site. Over https its name has the prefix
// __Host-, so that no other host of the domain can set it. life <= 0 deletes the cookie.
func (x *Exchange) Cookie(name, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // it is Secure whenever browsers reach the service over https
		Name: x.cookieName(name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: x.edge.secureCookies(), MaxAge: int(life / time.Second),
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	return c
}

func (x *Exchange) cookieName(name string) string {
	if x.edge.secureCookies() {
		return "__Host-" + name
	}
	return name
}

// CookieValue returns the value of a cookie that Cookie made, or "".
func (x *Exchange) CookieValue(name string) string {
	c, err := x.Request.Cookie(x.cookieName(name))
	if err != nil || len(c.Value) > maxCredential {
		return ""
	}
	return c.Value
}

// SetSession signs the browser in with a new session.
func (x *Exchange) SetSession(s command.OpenedSession) {
	life := s.ExpiresAt.Sub(x.edge.Service.Now())
	http.SetCookie(x.response, x.Cookie(sessionCookie, s.Secret, life))
}

// ClearSession makes the browser forget its session.
func (x *Exchange) ClearSession() {
	http.SetCookie(x.response, x.Cookie(sessionCookie, "", 0))
}

// OwnSession returns the session that SignIn accepted. It is zero for a session of another issuer.
func (x *Exchange) OwnSession() account.Session { return x.own }
