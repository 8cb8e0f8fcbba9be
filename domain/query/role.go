package query

import (
	"slices"
	"strings"

	"vqa/domain/query/vocabulary"
)

// mounts are things to ride. A rider or biker who is on one of them rides it.
var mounts = set("bicycle motorcycle horse elephant cow skateboard snowboard skis surfboard")

// expandRoles replaces the word for a role by its meaning: a cyclist is a person "riding
// bicycle". A pedestrian does neither that nor "riding motorcycle".
func (p *parser) expandRoles() {
	for s := range p.subjects {
		switch thing := vocabulary.Riding(p.subjects[s].Term); {
		case thing == "":
			p.expandRider(s)
		case p.subjects[s].Presupposed && p.fallsOrJumps(s):
			// "Does the cyclist fall": a person who falls no longer rides.
		case thing == "nothing":
			p.addRiding(s, "bicycle", true)
			p.addRiding(s, "motorcycle", true)
		default:
			p.addRiding(s, thing, false)
		}
	}
}

// fallsOrJumps reports whether the question asks for a fall or a jump of subject s.
func (p *parser) fallsOrJumps(s int) bool {
	return slices.ContainsFunc(p.conditions, func(c Condition) bool {
		h, _, ok := c.Occurrence()
		return ok && c.Subject == p.subjects[s].ID && (h == Falling || h == Jumping)
	})
}

// addRiding makes subject s a person who rides a thing, or who does not when negated.
func (p *parser) addRiding(s int, thing string, negated bool) {
	p.subjects[s].Term = "person"
	p.objects = append(p.objects, thing)
	for i, c := range p.conditions {
		if c.Subject == p.subjects[s].ID && c.Value == "riding" {
			p.conditions[i].Value = "riding " + thing
		}
	}
	said := slices.ContainsFunc(p.conditions, func(c Condition) bool {
		ridden, rides := strings.CutPrefix(c.Value, "riding ")
		classes, _ := vocabulary.COCO().Lookup(ridden)
		return rides && c.Subject == p.subjects[s].ID && c.Negated == negated && slices.Equal(classes, []string{thing})
	})
	if !said {
		p.addCondition(s, KindAction, "riding "+thing, negated)
	}
}

// expandRider reads "a rider on a horse" as a person who rides the horse.
func (p *parser) expandRider(s int) {
	subject := &p.subjects[s]
	if subject.Term != "rider" && subject.Term != "biker" {
		return
	}
	for i, c := range p.conditions {
		thing, on := strings.CutPrefix(c.Value, "on ")
		if classes, ok := vocabulary.COCO().Lookup(thing); on && ok && mounts[classes[0]] && c.Subject == subject.ID && c.Kind == KindLocation {
			subject.Term = "person"
			p.conditions[i].Kind, p.conditions[i].Value = KindAction, "riding "+thing
		}
	}
}
