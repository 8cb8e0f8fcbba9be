package httpapi

import (
	"net/http"

	"vqa/domain/fault"
)

// cappedAddress is the address that a sandbox or an upgrade counts for, or "" for a client
// that no cap binds.
func (s *server) cappedAddress(r *http.Request) string {
	if s.Uncapped != nil && s.Uncapped(r) {
		return ""
	}
	return s.SandboxAddress(r)
}

// withSetting tells the operator which setting holds a cap that was reached.
func withSetting(err error, code fault.Code, name string) error {
	if f := fault.Of(err); f != nil && f.Code == code {
		f.Message += " The operator sets this limit with " + name + "."
		return f.WithDetail("setting", name)
	}
	return err
}
