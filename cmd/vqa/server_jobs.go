package main

import (
	"context"
	"errors"
	"time"
)

// startJobs works jobs while this node has a lease.
func (s *server) startJobs(ctx context.Context) {
	ctx, s.endJobs = context.WithCancel(ctx)
	s.jobsEnded = make(chan struct{})
	go func() {
		defer close(s.jobsEnded)
		s.jobs.Run(ctx, s.presence)
	}()
}

func (s *server) stopJobs() error {
	s.endJobs()
	select {
	case <-s.jobsEnded:
		return nil
	case <-time.After(closeTimeout):
		return errors.New("jobs still run")
	}
}
