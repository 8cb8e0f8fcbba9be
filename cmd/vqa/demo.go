package main

import (
	"context"

	"vqa/handlers/httpapi"
	"vqa/handlers/intake/demo"
	"vqa/handlers/jobs"
)

// demos returns the demo videos for the HTTP API; there are none when VQA_DEMO is false.
func (s *server) demos() httpapi.Demos {
	if !s.config.Demo {
		return httpapi.Demos{}
	}
	return httpapi.Demos{Scenes: demo.Scenes(), Files: s.objects}
}

// makeDemos adds the demo videos and asks their questions, unless VQA_DEMO is false. It returns when
// all are complete.
func (s *server) makeDemos(ctx context.Context) {
	if !s.config.Demo {
		return
	}
	d := jobs.Demos{
		Scenes: demo.Scenes(), Commands: s.commands, Studio: &demo.Studio{Objects: s.objects, Prober: s.intake.Prober, FFmpeg: s.ffmpeg},
		Read: s.resources, Quiet: jobs.DemoQuiet, Wake: s.feed.Watch, Log: s.log,
	}
	d.Run(ctx)
}
