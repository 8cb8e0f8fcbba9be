package command

import (
	"context"
	"fmt"

	"vqa/domain/analysis"
	"vqa/domain/id"
	"vqa/domain/incident"
)

// Incidents knows the platform incidents.
type Incidents interface {
	// OpenIncident returns the id of one that is open, or "" when none is.
	OpenIncident(ctx context.Context) (string, error)
}

// platform stands in the metadata of events that no account stands behind.
const platform = "platform"

// OpenIncident begins a platform incident by order of an operator: analyses that fail
// while it is open may be run again for free. Errors: validation_failed.
func (s *Service) OpenIncident(ctx context.Context, title, operator string) (incident.State, error) {
	open := incident.Open{ID: s.IDs.New(id.Incident), Title: title}
	return s.recordIncident(ctx, s.operatorIntent(platform, operator, ""), open.ID, open)
}

// CloseIncident ends a platform incident; one that is over stays as it is. Errors:
// resource_not_found.
func (s *Service) CloseIncident(ctx context.Context, incidentID, operator string) (incident.State, error) {
	return s.recordIncident(ctx, s.operatorIntent(platform, operator, ""), incidentID, incident.Close{})
}

// outageActor is who opens and closes the incidents that the service notices by itself.
const outageActor = "outage"

// ReportOutage begins an incident that a process noticed by itself.
func (s *Service) ReportOutage(ctx context.Context, title, node string) (incident.State, error) {
	open := incident.Open{ID: s.IDs.New(id.Incident), Title: title, Node: node}
	return s.recordIncident(ctx, intent{accountID: platform, meta: s.systemMeta(Cause{}, platform, outageActor)}, open.ID, open)
}

// EndOutage ends an incident that a process noticed by itself; one that is over stays as
// it is. Errors: resource_not_found.
func (s *Service) EndOutage(ctx context.Context, incidentID string) (incident.State, error) {
	in := intent{accountID: platform, meta: s.systemMeta(Cause{}, platform, outageActor)}
	return s.recordIncident(ctx, in, incidentID, incident.Close{})
}

// FailInOutage ends an attempt as FailAnalysis does when what the service runs on was away
// for too long. That is a platform incident: one is opened, with this title by this node,
// unless one is open.
func (s *Service) FailInOutage(ctx context.Context, r Run, why analysis.Failure, title, node string) error {
	incidentID, err := s.openIncident(ctx)
	if err == nil && incidentID == "" {
		var opened incident.State
		opened, err = s.ReportOutage(ctx, title, node)
		incidentID = opened.ID
	}
	if err != nil {
		return err
	}
	return s.failIn(ctx, r, why, incidentID, 0)
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

// openIncident is the incident that is to blame for what fails now, or "".
func (s *Service) openIncident(ctx context.Context) (string, error) {
	if s.Incidents == nil {
		return "", nil
	}
	incidentID, err := s.Incidents.OpenIncident(ctx)
	if err != nil {
		return "", fmt.Errorf("whether an incident is open: %w", err)
	}
	return incidentID, nil
}
