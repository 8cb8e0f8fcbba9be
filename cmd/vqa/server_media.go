package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake"
	"vqa/handlers/intake/probe"
	"vqa/handlers/objects"
)

// openMedia opens the object store, ffmpeg and the client that fetches videos.
func (s *server) openMedia(ctx context.Context, c config, key []byte, log *slog.Logger) (err error) {
	s.objects, err = objects.Open(ctx, objects.Options{
		URL: c.BlobURL, Dir: c.objectsDir(), Unproven: true, PublicURL: c.PublicURL, SigningKey: key,
		MinFree: int64(c.MinFreeSpace), Now: s.clock.Now, WriteError: edge.WriteError, Log: log, Await: s.artifacts.Wait,
	})
	if err != nil {
		return fmt.Errorf("opening the object store: %w", err)
	}
	s.closers = append(s.closers, s.objects.Close)
	client, err := c.customerClient()
	if err != nil {
		return err
	}
	if s.ffmpeg, err = c.openFFmpeg(ctx); err != nil {
		return fmt.Errorf("%w: %s", err, doctor.FixFFmpeg)
	}
	slots := probeSlots()
	s.intake = &intake.Intake{Objects: s.objects, Client: client, Prober: probe.New(s.ffmpeg), Slots: intake.NewSlots(slots, slots/2)}
	return nil
}

// probeSlots is the number of files that a node probes at once: one for each core, at least 2, and at
// most 4, because each probe can use hundreds of megabytes.
func probeSlots() int { return min(max(runtime.GOMAXPROCS(0), 2), 4) }
