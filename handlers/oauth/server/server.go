package server

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
	"vqa/handlers/oauth"
)

// maxForm is the largest body of a request in bytes. A registration has at most ten addresses of 2 KiB.
const maxForm = 64 << 10

// Reader reads grants and clients. A read after a command returns its effect.
type Reader interface {
	Grant(ctx context.Context, id string) (grant.State, bool, error)
	// Grants lists the permissions of an account, newest first.
	Grants(ctx context.Context, accountID string) ([]grant.State, error)
	AgentClient(ctx context.Context, id string) (grant.Client, bool, error)
	// UnusedAgentClients counts the clients of an address that no person has approved.
	UnusedAgentClients(ctx context.Context, addressHash string, now time.Time) (int, error)
}

// Ledger reads the balance of an account.
type Ledger interface {
	Balance(ctx context.Context, accountID string) (credit.State, error)
}

// Options configure the server. A field is required unless its comment says otherwise.
type Options struct {
	Service *command.Service
	Reader  Reader
	Ledger  Ledger
	// Transport fetches metadata documents. It must refuse hosts inside the network.
	Transport http.RoundTripper
	// PublicURL is the address of the service and the issuer of its tokens, without a trailing slash.
	PublicURL string
	// PricePerSecondCents is the price of one billed second, in US cents.
	PricePerSecondCents decimal.Decimal
	// FormKey signs the forms of the pages.
	FormKey []byte
	// Address identifies the sender of a registration; see edge.AddressHash.
	Address func(*http.Request) string
	// Uncapped reports a client that is exempt from the limit per address on registrations. If it is nil, none is.
	Uncapped func(*http.Request) bool
}

// server implements http.Handler.
type server struct {
	Options
	documents *documents
	sameSite  *http.CrossOriginProtection
}

// New returns the handler of the paths of OAuth. Error: the public URL is not an absolute URL.
func New(o Options) (http.Handler, error) {
	public, err := url.Parse(o.PublicURL)
	if err != nil || public.Host == "" {
		return nil, fmt.Errorf("oauth/server: the public URL %q is not absolute", o.PublicURL)
	}
	s := &server{Options: o, documents: newDocuments(o.Transport, o.Service.Now), sameSite: http.NewCrossOriginProtection()}
	return s, s.sameSite.AddTrustedOrigin(public.Scheme + "://" + public.Host)
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	path := r.URL.Path
	page := path == oauth.AuthorizePath || path == edge.AgentsPath
	if !page {
		// The responses carry no cookie, and programs in a browser need them.
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, X-Request-Id, Retry-After")
	}
	methods := map[string]http.HandlerFunc{}
	switch path {
	case oauth.AuthorizePath:
		methods = map[string]http.HandlerFunc{http.MethodGet: s.showConsent, http.MethodPost: s.decide}
	case edge.AgentsPath:
		methods = map[string]http.HandlerFunc{http.MethodGet: s.showAgents, http.MethodPost: s.revokeAgent}
	case oauth.TokenPath:
		methods[http.MethodPost] = s.token
	case oauth.RevokePath:
		methods[http.MethodPost] = s.revoke
	case oauth.RegisterPath:
		methods[http.MethodPost] = s.register
	case oauth.ServerMetadataPath:
		methods[http.MethodGet] = func(w http.ResponseWriter, _ *http.Request) { document(w, oauth.ServerMetadata(s.PublicURL)) }
	default:
		methods[http.MethodGet] = func(w http.ResponseWriter, _ *http.Request) {
			document(w, oauth.ResourceMetadata(s.PublicURL, cmp.Or(strings.TrimPrefix(path, oauth.ResourceMetadataPath), edge.ToolsPath)))
		}
	}
	s.route(w, r, methods, page)
}

// route runs the function of the method. It answers preflight requests of the endpoints for programs.
func (s *server) route(w http.ResponseWriter, r *http.Request, methods map[string]http.HandlerFunc, page bool) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if run, known := methods[method]; known {
		run(w, r)
		return
	}
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		if methods[m] != nil {
			allowed = append(allowed, m)
		}
	}
	h := w.Header()
	h.Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
	if method != http.MethodOptions || page {
		write(w, http.StatusMethodNotAllowed, &oauth.Error{Code: oauth.InvalidRequest, Description: "The path does not have this method. The response header Allow lists its methods."})
		return
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(allowed, ", "))
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Mcp-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// document answers a request for metadata.
func document(w http.ResponseWriter, value any) {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	write(w, http.StatusOK, value)
}

// secret answers a request with a value that nothing may cache.
func secret(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Cache-Control", "no-store")
	write(w, status, value)
}

func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failed write cannot be reported: the status is sent already.
	_ = json.NewEncoder(w).Encode(value)
}

// fail answers a request of a program with an error: one of OAuth, or the error envelope for a fault.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var e *oauth.Error
	if !errors.As(err, &e) {
		edge.WriteError(w, r, err)
		return
	}
	status := http.StatusBadRequest
	if e.Code == oauth.InvalidClient {
		status = http.StatusUnauthorized
	}
	secret(w, status, e)
}

// page sends a page.
func (s *server) page(w http.ResponseWriter, r *http.Request, status int, p pages.Page, err error) {
	if err != nil {
		edge.WriteError(w, r, err)
		return
	}
	for name, value := range p.Headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(p.HTML)
}

// signIn returns the person who opened a page. Without one it redirects to the page for signing in, and ok is false.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) (person command.Caller, ok bool) {
	person, err := edge.ExchangeOf(r.Context()).SignIn()
	switch {
	case err == nil:
		return person, true
	case fault.Has(err, fault.InvalidAPIKey) && r.Method != http.MethodPost:
		to := edge.SignInPath + "?" + url.Values{"return_to": {r.URL.RequestURI()}}.Encode()
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		http.Redirect(w, r, to, http.StatusSeeOther)
	case fault.Has(err, fault.AccountRestricted):
		s.problem(w, r, http.StatusForbidden, "Your account is restricted, so no program can use it.", "")
	default:
		edge.WriteError(w, r, err)
	}
	return command.Caller{}, false
}

// problem shows an error to the person.
func (s *server) problem(w http.ResponseWriter, r *http.Request, status int, message, back string) {
	p, err := pages.ConsentPage(pages.Consent{Problem: message, BackURL: back})
	s.page(w, r, status, p, err)
}

// form reads the form of a request. Error: InvalidRequest for a body of another type, a larger one, or a repeated
// parameter.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") || r.ParseForm() != nil {
		return nil, &oauth.Error{Code: oauth.InvalidRequest, Description: "Send a form of type application/x-www-form-urlencoded of at most 64 KiB."}
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, &oauth.Error{Code: oauth.InvalidRequest, Description: fmt.Sprintf("%.50q must be sent once.", name)}
		}
	}
	return r.PostForm, nil
}

// posted returns the signed-in person and the form that a page of this service sent. It answers all other requests
// itself, and tells the person what to do about a form of another site.
func (s *server) posted(w http.ResponseWriter, r *http.Request, remedy string) (person command.Caller, f url.Values, ok bool) {
	if err := s.sameSite.Check(r); err != nil {
		edge.WriteError(w, r, fault.New(fault.InsufficientScope, "The form was sent from another site. "+remedy).WithCause(err))
		return person, nil, false
	}
	if person, ok = s.signIn(w, r); !ok {
		return person, nil, false
	}
	f, err := form(w, r)
	if err != nil {
		s.showError(w, r, err, "")
		return person, nil, false
	}
	return person, f, true
}

// sign returns a code that binds values to this service, so that a form with them cannot be made up.
func (s *server) sign(parts ...string) string {
	mac := hmac.New(sha256.New, s.FormKey)
	for _, part := range parts {
		_, _ = fmt.Fprintf(mac, "%d:%s\n", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
