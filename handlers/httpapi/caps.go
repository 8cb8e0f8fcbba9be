package httpapi

import (
	"net/http"

	"vqa/domain/fault"
)

// cappedAddress returns the address hash that a sandbox or an upgrade counts for, or "" for
// a client without a limit.
func (s *server) cappedAddress(r *http.Request) string {
	if s.Uncapped != nil && s.Uncapped(r) {
		return ""
	}
	return s.SandboxAddress(r)
}

// withSetting adds to a limit error the name of the setting that holds the limit.
func withSetting(err error, code fault.Code, name string) error {
	if f := fault.Of(err); f != nil && f.Code == code {
		f.Message += " The operator sets this limit with " + name + "."
		return f.WithDetail("setting", name)
	}
	return err
}
