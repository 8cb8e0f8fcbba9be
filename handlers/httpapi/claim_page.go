package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/handlers/command"
)

var claimTemplate = page("claim.html")

// view is which of its faces the claim page shows.
type view string

// The faces of the claim page; pages/claim.html has one branch for each.
const (
	viewOff        view = "off"
	viewSignIn     view = "sign in"
	viewRestricted view = "restricted"
	viewForm       view = "form"
	viewReview     view = "review"
	viewApproved   view = "approved"
	viewDenied     view = "denied"
)

// claimPage is what the template shows.
type claimPage struct {
	View view
	// SignInURL is empty when the issuer is no address to go to.
	SignInURL string
	// Typed is the code as it was entered, Problem what is wrong with it.
	Typed, Problem string
	Review         review
}

// review is the request that a person is asked about.
type review struct {
	// UserCode is grouped for a reader.
	UserCode  string
	AccountID string
	// ByKey is true when whoever asked showed an API key.
	ByKey    bool
	Approved bool
	// RequestedAt and ExpiresAt are RFC 3339; RequestedAgo and ExpiresIn say the same in
	// whole minutes.
	RequestedAt, RequestedAgo string
	ExpiresAt, ExpiresIn      string
	Token                     string
}

func (s *server) reviewPage(person command.Caller, c claim) claimPage {
	now := s.Service.Now()
	return claimPage{View: viewReview, Review: review{
		UserCode: account.FormatUserCode(c.UserCode), AccountID: person.AccountID, ByKey: c.RequesterKeyID != "",
		Approved:    c.Status == account.DeviceApproved,
		RequestedAt: c.RequestedAt.UTC().Format(time.RFC3339), RequestedAgo: minutes(now.Sub(c.RequestedAt)),
		ExpiresAt: c.ExpiresAt.UTC().Format(time.RFC3339), ExpiresIn: minutes(c.ExpiresAt.Sub(now)),
		Token: s.claimToken(person.AccountID, c.Hash),
	}}
}

// minutes puts a duration into words.
func minutes(d time.Duration) string {
	switch n := int(d.Round(time.Minute) / time.Minute); {
	case d < time.Minute:
		return "less than a minute"
	case n == 1:
		return "1 minute"
	default:
		return fmt.Sprintf("%d minutes", n)
	}
}

// claimToken binds the form to whom it was shown and to the request that was shown, so
// that no other site can send it. It ends with the request.
func (s *server) claimToken(accountID, codeHash string) string {
	mac := hmac.New(sha256.New, s.FormKey)
	_, _ = fmt.Fprintf(mac, "claim\n%s\n%s", accountID, codeHash)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *server) validClaimToken(token, accountID, codeHash string) bool {
	return hmac.Equal([]byte(token), []byte(s.claimToken(accountID, codeHash)))
}

// signInURL leads to the issuer of sessions, which sends the person back to where they
// were; it is empty when the issuer's name is no web address.
func (s *server) signInURL(typed string) string {
	issuer, err := url.Parse(s.Sessions.Issuer())
	if err != nil || (issuer.Scheme != "https" && issuer.Scheme != "http") || issuer.Host == "" {
		return ""
	}
	back := s.url("/claim")
	if code, ok := account.ParseUserCode(typed); ok {
		back += "?" + url.Values{"code": {account.FormatUserCode(code)}}.Encode()
	}
	query := issuer.Query()
	query.Set("return_to", back)
	issuer.RawQuery = query.Encode()
	return issuer.String()
}

// originOf is the scheme and the host of an address.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("httpapi: the public URL: %w", err)
	}
	return u.Scheme + "://" + u.Host, nil
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// styleHashes names the inline styles of a page as a content security policy does, so
// that these run and none that was slipped in.
func styleHashes(page []byte) string {
	var hashes []string
	for _, style := range styleElement.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(style[1])
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	if len(hashes) == 0 {
		return "'none'"
	}
	return strings.Join(slices.Compact(hashes), " ")
}
