package command

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/id"
	"vqa/domain/incident"
)

// Incidents finds platform incidents.
type Incidents interface {
	// OpenIncident returns the id of an open incident, or "" when there is none.
	OpenIncident(ctx context.Context) (string, error)
}

// platform is the account in the metadata of events that belong to no account.
const platform = "platform"

// OpenIncident opens a platform incident for an operator. Analyses that fail while it is open may
// be run again for free. Error: validation_failed.
func (s *Service) OpenIncident(ctx context.Context, title, operator string) (incident.State, error) {
	open := incident.Open{ID: s.IDs.New(id.Incident), Title: title}
	return s.recordIncident(ctx, s.operatorIntent(platform, operator, ""), open.ID, open)
}

// CloseIncident closes a platform incident. It does nothing when the incident is closed already.
// Error: resource_not_found.
func (s *Service) CloseIncident(ctx context.Context, incidentID, operator string) (incident.State, error) {
	return s.recordIncident(ctx, s.operatorIntent(platform, operator, ""), incidentID, incident.Close{})
}

// outageActor is the actor of incidents that the service opens and closes by itself.
const outageActor = "outage"

// ReportOutage opens an incident that a node detected.
func (s *Service) ReportOutage(ctx context.Context, title, node string) (incident.State, error) {
	open := incident.Open{ID: s.IDs.New(id.Incident), Title: title, Node: node}
	return s.recordIncident(ctx, intent{accountID: platform, meta: s.systemMeta(Cause{}, platform, outageActor)}, open.ID, open)
}

// EndOutage closes an incident that a node detected. It does nothing when the incident is closed
// already. Error: resource_not_found.
func (s *Service) EndOutage(ctx context.Context, incidentID string) (incident.State, error) {
	in := intent{accountID: platform, meta: s.systemMeta(Cause{}, platform, outageActor)}
	return s.recordIncident(ctx, in, incidentID, incident.Close{})
}

// FailInOutage fails an analysis because a dependency of the service was unavailable for too long.
// That is a platform incident: unless one is open, it opens one with this title for this node.
func (s *Service) FailInOutage(ctx context.Context, r Run, why analysis.Failure, title, node string) error {
	incidentID, err := s.EnsureOutage(ctx, title, node)
	if err != nil {
		return err
	}
	return s.failIn(ctx, r, why, incidentID, 0)
}

// EnsureOutage returns the open incident, or opens one with this title for this node.
func (s *Service) EnsureOutage(ctx context.Context, title, node string) (incidentID string, err error) {
	incidentID, err = s.openIncident(ctx)
	if err != nil || incidentID != "" {
		return incidentID, err
	}
	opened, err := s.ReportOutage(ctx, title, node)
	return opened.ID, err
}

func (s *Service) recordIncident(ctx context.Context, in intent, incidentID string, c incident.Command) (incident.State, error) {
	in.streams = append(in.streams, incidents.Stream(incidentID))
	var state incident.State
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		state, err = incidents.record(ss, incidentID, c)
		return err
	})
	return state, err
}

// openIncident returns the open incident that a failure now counts to, or "".
func (s *Service) openIncident(ctx context.Context) (string, error) {
	if s.Incidents == nil {
		return "", nil
	}
	incidentID, err := s.Incidents.OpenIncident(ctx)
	if err != nil {
		return "", fmt.Errorf("look for an open incident: %w", err)
	}
	return incidentID, nil
}
