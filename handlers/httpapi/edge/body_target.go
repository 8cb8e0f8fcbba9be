package edge

import "vqa/domain/fault"

// checkTarget refuses a URL that check does. An absent one is not checked.
func checkTarget(param string, rawURL any, check func(string) error, v *verdict) {
	text, isText := rawURL.(string)
	if !isText || v.has(param) {
		return
	}
	err := check(text)
	if err == nil {
		return
	}
	f := fault.Of(err)
	if f == nil {
		f = fault.New(fault.URLForbidden, "").WithCause(err)
	}
	if f.Code != fault.ValidationFailed {
		refused := *f
		v.setSpecific(refused.WithParam(param))
		v.add(param, fault.Format, f.Message)
		return
	}
	for _, violation := range f.Violations {
		v.add(param, violation.Code, violation.Message)
	}
}
