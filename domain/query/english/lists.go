package english

import (
	"slices"
	"strings"

	"vqa/domain/query"
)

// join joins noun phrases. A place behind the last of a list belongs to each of them.
func join(a, b phrases, either bool) any {
	if len(a.of) > 1 && a.any != either && !a.open || len(b.of) != 1 || a.none {
		return nil
	}
	places := func(p phrase) (out []query.Condition) {
		for _, c := range p.thing.Conditions {
			if c.Kind == query.KindLocation {
				out = append(out, c)
			}
		}
		return out
	}
	out := phrases{any: either}
	last := b.of[0]
	if before := a.of[len(a.of)-1].thing.Conditions; (garments[last.thing.Term] != "" || body[last.thing.Term] != "") && len(before) > 0 {
		if v := before[len(before)-1].Value; strings.HasPrefix(v, "wearing ") || strings.HasPrefix(v, "with ") {
			return nil // "wearing a hat and glasses"
		}
	}
	last.definite = last.definite || a.of[0].definite && last.number == nil && !last.none && len(a.of) > 0 && last.quantifierless()
	for _, p := range a.of {
		if len(places(p)) == 0 {
			p.thing.Conditions = slices.Concat(p.thing.Conditions, places(last))
		}
		out.of = append(out.of, p)
	}
	out.of = append(out.of, last)
	return out
}

// comma joins by what joins the rest of the list.
func comma(a *args) any {
	x, y := a.things("a"), a.things("b")
	if len(x.of) > 1 && !x.open {
		return nil
	}
	out, ok := join(x, y, false).(phrases)
	if !ok {
		return nil
	}
	out.open = true
	return out
}

func butNo(a, b phrases) any {
	if len(b.of) != 1 || a.any || a.none || !b.of[0].quantifierless() {
		return nil
	}
	b.of[0].none = true
	return join(a, b, false)
}

// noBut is "no cat but a dog".
func noBut(a, b phrases) any {
	if !a.of[0].none || b.of[0].none || a.of[0].thing.Term == "thing" {
		return nil
	}
	return phrases{of: append(slices.Clone(a.of), b.of...)}
}
