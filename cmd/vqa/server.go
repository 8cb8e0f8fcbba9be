package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"vqa/cmd/vqa/internal/streams"
	"vqa/domain/admission"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/eventstore/feed"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/gpu"
	"vqa/gpu/lanes"
	"vqa/handlers/artifact"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/intake/scratch"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
	"vqa/handlers/prove"
	"vqa/handlers/react"
	"vqa/handlers/seal"
	"vqa/handlers/survey"
	"vqa/handlers/webhook"
	"vqa/projections/deliveries"
	"vqa/projections/public"
	"vqa/projections/resources"
	"vqa/streaming/peer"
)

// server is the whole service in one process.
type server struct {
	*app
	// clock is that of app. Parts that are opened before the database use it, too.
	clock   *postgres.Clock
	objects *objects.Store
	intake  *intake.Intake
	// ffmpeg runs ffmpeg for all parts of the service.
	ffmpeg *ffmpeg.Runner
	engine gpu.Engine
	// lanes share the engine between live streams and uploads.
	lanes  *lanes.Lanes
	meter  *meter
	models *models
	// artifacts makes readers wait for an artifact that is still rendered.
	artifacts artifact.Waiter
	// calibrations are those of VQA_CALIBRATION_FILE, by the weights of a model.
	calibrations answer.Calibrations
	// vocabulary returns the classes that the servers of VQA_INFERENCE_URL report; it is nil for the
	// embedded worker.
	vocabulary func(context.Context) ([]string, bool)
	capacity   *jobs.Capacity
	windows    *node.Windows
	creates    *edge.Creates
	locks      *node.Locks
	closers    []func() error
	jobs       *jobs.Client
	feed       *feed.Feed
	// writers watches for transactions that block the readers of the log.
	writers  *postgres.WriterWatch
	alarms   *alarmWatch
	presence *node.Presence
	sweeper  *jobs.Sweeper
	orphans  *jobs.Orphans
	// logSealer keeps the transparency log.
	logSealer *seal.Sealer
	webhookParts
	// media has the ports of live streams, and streams runs those of this node.
	media      *peer.Server
	streams    *streams.Node
	outages    *jobs.Outages
	extraction *jobs.Extraction
	temp       *healthProbe
	keyUses    *command.KeyUses
	http       *http.Server
	listener   net.Listener

	// endAnnouncement removes the address of this server from the data folder, or is nil.
	endAnnouncement func() error
	// address identifies the client of a request, and passing the requests that other nodes pass on.
	address func(*http.Request) string
	passing *edge.Passing
	// endRequests interrupts the requests that still run.
	endRequests context.CancelCauseFunc
	stopWork    context.CancelFunc
	// stopStreams ends the live streams of this node and waits for their ends.
	stopStreams func()
	endJobs     context.CancelFunc
	jobsEnded   chan struct{}
	running     sync.WaitGroup
	// failed receives the first error of a part. It ends the service.
	failed chan error
}

// startServer opens and starts all parts. The server answers at baseURL when it returns.
func startServer(ctx context.Context, c config, log *slog.Logger) (s *server, err error) {
	s = &server{failed: make(chan error, 1), meter: newMeter(), clock: postgres.NewClock(time.Now, log)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Addr); err != nil {
		return s, fmt.Errorf("cannot listen on VQA_ADDR; set an address that is free: %w", err)
	}
	if removed, err := scratch.Sweep(); removed > 0 || err != nil {
		log.Info("removed temporary folders of processes that were killed", "folders", removed, "error", err)
	}
	key, err := keyFile(c.DataDir, secretKeyFile)
	if err != nil {
		return s, fmt.Errorf("reading the secret key of the installation: %w", err)
	}
	if err := s.openMedia(ctx, c, key, log); err != nil {
		return s, err
	}
	if err := s.openEngine(ctx, c, log); err != nil {
		return s, err
	}
	s.engine = timedEngine{s.engine, s.meter.engine}
	s.lanes = lanes.New(s.engine, s.clock.Now)
	s.capacity = &jobs.Capacity{Engine: s.engine, Now: s.clock.Now}
	with := adapters{uploads: s.intake, capacity: s.capacity, recorded: s.meter.recorded, serving: true, clock: s.clock}
	if with.identities, err = c.identities(); err != nil {
		return s, err
	}
	if s.vault, err = webhookVault(c, key); err != nil {
		return s, err
	}
	with.sealer = s.vault
	if s.models, err = openModels(c, log); err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.models.Close)
	with.vocabulary = s.vocabulary
	with.compiler, with.assessable = s.models.commandCompiler(), s.models.assessable
	if s.app, err = openApp(ctx, c, log, with); err != nil {
		return s, err
	}
	if err := s.confirmInstallation(ctx, key); err != nil {
		return s, err
	}
	s.capacity.Queue = s.resources
	if err := s.openJobs(ctx, key); err != nil {
		return s, err
	}
	s.deliveries = deliveries.New(s.pool)
	if err := s.openStreams(c, key); err != nil {
		return s, err
	}
	handler, err := s.handler(c, key)
	if err != nil {
		return s, err
	}
	if err := s.openWebhooks(ctx, handler.RenderEvent); err != nil {
		return s, err
	}
	if err := s.openHTTP(ctx, c, handler); err != nil {
		return s, err
	}
	return s, s.run(ctx)
}

// openJobs opens the jobs and the feed that starts them.
func (s *server) openJobs(ctx context.Context, key []byte) (err error) {
	name, err := s.join(ctx, key)
	if err != nil {
		return err
	}
	s.creates = edge.NewCreates(admission.Default, s.log)
	s.windows, s.locks = node.NewWindows(s.pool), node.NewLocks(s.pool, s.presence)
	slots := s.config.AnalysisSlots
	if slots == 0 {
		slots = runtime.GOMAXPROCS(0) + 1
	}
	s.resources.Estimator = &resources.Estimator{Pool: s.pool, Nodes: s.presence.Count, Slots: slots, StreamSlotsEach: s.config.StreamSlots, Now: s.clock.Now, Log: s.log}
	s.extraction, s.temp = s.watchExtraction(), &healthProbe{test: writeTemp}
	notifier, err := s.notifier()
	if err != nil {
		return err
	}
	s.jobs, err = jobs.New(jobs.Options{
		Pool: s.pool, Analyses: slots, Notifier: notifier, Recordings: s.recordings(), Objects: s.objects, Line: s.resources, Log: jobLog(s.log),
		Analyzer: &jobs.Analyzer{
			Commands: s.commands, Sources: s.intake, Surveys: survey.Store{Objects: s.objects}, Engine: s.lanes.Uploads(), FFmpeg: s.ffmpeg, Calibrations: s.calibrations,
			Node: name, Log: s.log, Progress: resources.NewProgress(s.pool), Open: s.resources, Renderer: s.studio(), Patience: s.config.InferencePatience,
			Checks:   []func(context.Context) error{s.engineAnswers, s.extraction.Ready, s.temp.Check},
			Narrator: s.models.jobsNarrator(), VisionModel: s.models.vision, Waited: s.meter.waited,
		},
		Backlog: s.resources.UnfinishedFetches, Now: s.clock.Now,
		Fetcher: &jobs.Fetcher{Commands: s.commands, Intake: s.intake, Objects: s.objects, Log: s.log},
	})
	if err != nil {
		return err
	}
	s.sweeper = &jobs.Sweeper{
		Client: s.jobs, Commands: s.commands, Open: s.resources, Holds: s.ledger, Nodes: s.presence, Now: s.clock.Now, Log: s.log,
	}
	s.orphans = &jobs.Orphans{Objects: s.objects, Videos: s.resources, Now: s.oldest, Log: s.log}
	s.outages = &jobs.Outages{
		Ready: s.capacity.InferenceReady, Commands: s.commands, Read: s.resources, Nodes: s.presence, Node: name, Now: s.clock.Now, Log: s.log,
		Patience: s.config.InferencePatience,
	}
	if err := s.openLogSealer(ctx); err != nil {
		return err
	}
	s.feed = feed.New(s.pool, s.codec, s.log, feed.WithCheck(s.guard.CheckEvent))
	s.writers = &postgres.WriterWatch{Pool: s.pool, Timeout: s.config.LogWriterTimeout, Log: s.log}
	s.alarms = &alarmWatch{log: s.log, own: s.ownAlarms, read: func(ctx context.Context) ([]feed.Subscriber, error) {
		return s.feed.Subscribers(ctx, subscriberNames()...)
	}}
	s.artifacts.Drawing, s.artifacts.Wake = s.resources.Drawing, s.feed.Watch
	return nil
}

// studio returns the renderer of artifacts, or nil when VQA_ARTIFACTS is false.
func (s *server) studio() jobs.Renderer {
	if !s.config.Artifacts {
		return nil
	}
	return &artifact.Studio{Objects: s.objects, FFmpeg: s.ffmpeg}
}

// handler returns the handler of the HTTP API.
func (s *server) handler(c config, key []byte) (httpapi.Handler, error) {
	proxies, err := c.proxies()
	if err != nil {
		return nil, err
	}
	sessions, err := c.sessions(s.clock.Now)
	if err != nil {
		return nil, err
	}
	signIn, err := c.signIn(key, proxies, s.clock.Now)
	if err != nil {
		return nil, err
	}
	legacyKeys, err := c.legacyKeys()
	if err != nil {
		return nil, err
	}
	s.keyUses = command.NewKeyUses(s.commands, s.log)
	renderer, err := s.renderer(c)
	if err != nil {
		return nil, err
	}
	uncapped := c.uncapped(proxies)
	authorization, err := s.authorization(c, key, s.address, uncapped)
	if err != nil {
		return nil, err
	}
	return httpapi.New(httpapi.Options{
		Service: s.commands, Resources: s.resources, Ledger: s.ledger, Checkpoints: s.logSealer, Objects: s.objects, ObjectHandler: s.objects,
		Proofs: reportingProofs{&prove.Prover{Rows: s.store, Anchors: s.logSealer.Anchors, Tiles: s.logSealer.Tiles}, s.logSealer.Report},
		Events: public.NewReader(s.store), Deliveries: s.deliveries, DeliverNow: func() { s.dispatcher.Wake() },
		Live: s.streams, StreamWindows: c.streamWindows(),
		Windows: s.windows, Creates: s.creates, Locks: s.locks, FormKey: derivedKey(key, "forms of pages"),
		Rates:      edge.Rates{Reads: c.RateReads, Writes: c.RateWrites, AnalysesCreate: c.RateAnalysesCreate, Parse: c.RateParse},
		Vocabulary: s.vocabulary,
		Tools:      s.agentTools(c), Authorization: authorization,
		Targets: s.intake.Client, Fixture: httpapi.TestFixture{Video: fixture.Bytes(), Prompt: fixture.Prompt},
		Demos: s.demos(),
		Pricing: httpapi.Pricing{
			PricePerSecondCents: c.PricePerSecondCents, SignupGrantSeconds: c.SignupGrantSeconds,
			CardGrantSeconds: c.CardGrantSeconds, AutoRefillThresholdSeconds: c.AutoRefillThresholdS,
			AllowedPurchaseCents: c.AllowedPurchaseCents, CustomPurchaseEnabled: c.CustomPurchase,
			MinPurchaseCents: c.MinPurchaseCents, BatchDiscountPct: c.BatchDiscountPct, BatchMinPrompts: 2, BatchMaxPrompts: 10,
		},
		LegacyKeys: legacyKeys, KeyUsed: s.keyUses.Note, Forged: s.forged.note,
		SignIn:   signIn,
		Sessions: sessions, Wake: s.feed.Watch, PublicURL: c.PublicURL, Metrics: s.metrics(), Answered: s.meter.answered, Log: s.log,
		Reference:      renderer,
		SandboxAddress: s.address, Passing: s.passing,
		Uncapped: uncapped,
		Health: []httpapi.HealthCheck{
			{Name: "database", Check: (&healthProbe{test: s.writeDatabase}).Check, Code: fault.DBUnavailable},
			{Name: "objects", Check: (&healthProbe{test: s.objects.Check}).Check},
			{Name: "temp", Check: s.temp.Check},
			{Name: "inference", Check: s.capacity.InferenceReady},
			{Name: "frames", Check: s.extraction.Ready},
			{Name: "storage", Check: s.checkRoom, Advisory: true},
			{Name: "log", Check: s.writers.Ready, Advisory: true, Degraded: "degraded"},
		},
		Alarms: s.alarms.names,
	})
}

// run starts the parts that work in the background, and the HTTP server.
func (s *server) run(ctx context.Context) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopWork = stop
	s.startJobs(working)
	s.closers = append(s.closers, s.stopJobs)
	s.alarms.check(working, true)
	reactor := react.Reactor{Jobs: s.jobs}
	s.work("the feed", func() error { return s.feed.Run(working) })
	s.work("the watch of open writers", func() error { s.writers.Run(working); return nil })
	s.work("the reactor", func() error { return s.feed.Subscribe(working, react.Group, reactor.Handle) })
	s.work("the planner of webhooks", func() error { return s.feed.Subscribe(working, webhook.Group, s.planner.Handle) })
	s.work("presence", func() error { s.presence.Run(working); return nil })
	s.startStreams(working)
	s.work("the sweep", func() error { s.sweeper.Run(working); return nil })
	s.work("the sweep of the object store", func() error { s.orphans.Run(working); return nil })
	s.work("the transparency log", func() error { s.logSealer.Run(working); return nil })
	s.work("the check of the engine", func() error { s.outages.Run(working); return nil })
	s.work("the check of ffmpeg", func() error { s.extraction.Run(working); return nil })
	s.work("the demo videos", func() error { s.makeDemos(working); return nil })
	s.work("the recording of key uses", func() error { s.keyUses.Run(working); return nil })
	s.work("the alarms", func() error {
		every(working, alarmsEvery, func(ctx context.Context) { s.alarms.check(ctx, false) })
		return nil
	})
	s.work("the rebuild of read models", func() error { every(working, refreshEvery, s.refreshDue); return nil })
	s.work("housekeeping", func() error { s.keepHouse(working); every(working, housekeepingEvery, s.keepHouse); return nil })
	end, err := announce(s.config, s.baseURL())
	if err != nil {
		return err
	}
	if err := rememberDataDir(s.config.DataDir); err != nil {
		s.log.Debug("the tools find this server only with VQA_DATA_DIR", "error", err)
	}
	s.endAnnouncement = end
	s.work("the HTTP server", func() error {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// work runs a part of the service in the background. Its error ends the service.
func (s *server) work(name string, part func() error) {
	s.running.Go(func() {
		if err := part(); err != nil {
			select {
			case s.failed <- fmt.Errorf("%s: %w", name, err):
			default:
			}
		}
	})
}

// Close refuses new requests, waits for running ones, and stops the parts in the reverse order of
// their start. The next start continues interrupted analyses.
func (s *server) Close() error {
	var errs []error
	if s.endAnnouncement != nil {
		errs = append(errs, s.endAnnouncement())
	}
	if s.streams != nil {
		errs = append(errs, s.disconnectStreams())
	}
	if s.http != nil {
		errs = append(errs, s.drain())
	}
	if s.listener != nil && s.http == nil {
		errs = append(errs, s.listener.Close())
	}
	if s.stopWork != nil {
		// Jobs end first, because they append their last events to the log.
		last := len(s.closers) - 1
		errs = append(errs, s.closers[last]())
		s.closers = s.closers[:last]
		s.stopStreams()
		s.stopWork()
		s.running.Wait()
	}
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	if s.app != nil {
		errs = append(errs, s.app.Close())
	}
	return errors.Join(errs...)
}
