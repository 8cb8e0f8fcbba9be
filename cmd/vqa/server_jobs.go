package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// startJobs works jobs and delivers webhooks while this node has a lease.
func (s *server) startJobs(ctx context.Context) {
	ctx, s.endJobs = context.WithCancel(ctx)
	s.jobsEnded = make(chan struct{})
	go func() {
		defer close(s.jobsEnded)
		var working sync.WaitGroup
		working.Go(func() { s.jobs.Run(ctx, s.presence) })
		working.Go(func() { s.dispatcher.Run(ctx, s.presence) })
		working.Wait()
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
