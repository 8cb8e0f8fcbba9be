package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/embedded"
	"vqa/eventstore/postgres"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
	"vqa/migrations"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// databaseName is the name of the database in the embedded server.
const databaseName = "vqa"

// closeTimeout bounds the shutdown of each part.
const closeTimeout = 20 * time.Second

// adapters are the parts of the command service that only the server needs. The tools leave them
// empty.
type adapters struct {
	uploads    command.Uploads
	capacity   command.Capacity
	identities command.Identities
	compiler   command.Compiler
	// assessable decides which queries are answered; nil means those of the detector.
	assessable func(query.Query) bool
	// vocabulary returns the classes of the model; nil means those of the catalog.
	vocabulary func(context.Context) ([]string, bool)
	// sealer encrypts the secrets of webhook endpoints. Only the server creates endpoints.
	sealer command.Sealer
	// recorded is called with the events of each append, unless it is nil.
	recorded func([]eventstore.Recorded)
	// serving refuses a database with which readers of the log could skip events. The tools accept it,
	// because some of them examine or repair it.
	serving bool
	// clock is the clock of the parts that were opened before the database; nil means a new one.
	clock *postgres.Clock
}

// app holds the parts that every subcommand with access to the log needs. It can run beside a
// server on the same database.
type app struct {
	config   config
	log      *slog.Logger
	ownerURL string
	// clock shows the time of the database to every part that decides by time.
	clock *postgres.Clock
	pool  *pgxpool.Pool
	codec *codec.Codec
	store *postgres.Store
	// guard computes and checks MACs. It is nil without the secret key of the installation, and
	// guardError says why.
	guard      *postgres.Guard
	guardError error
	forged     *forged
	commands   *command.Service
	resources  *resources.Reader
	ledger     *ledger.Reader

	server *embedded.Server
	stop   context.CancelFunc
	work   sync.WaitGroup
}

// machineTime returns the time of this machine, for commands without a database and for those that
// examine the machine. Decisions use the time of the database (app.clock).
func machineTime() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// allProjections returns the read models that are updated in the transaction of an append.
func allProjections() []projections.Projection {
	return append(resources.Projections(), ledger.Projections()...)
}

// catalog lists the models of the API. The embedded worker and the servers of VQA_INFERENCE_URL
// implement the same detector.
func catalog(c config) model.Catalog {
	terms := vocabulary.COCO().Names()
	if c.VLMURL != "" {
		terms = nil // a vision model accepts any term
	}
	return model.Catalog{{
		ID: "sight-1", Status: model.Stable, Default: true, Aliases: []string{"sight-preview"},
		CreatedAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		Capabilities: model.Capabilities{
			Analyses: true, Streams: true, Narrative: true, Counting: true, Actions: "beta", Vocabulary: terms, OpenVocabulary: terms == nil,
		},
	}}
}

// openApp opens the database, migrates its schema and starts the command pipeline.
func openApp(ctx context.Context, c config, log *slog.Logger, with adapters) (_ *app, err error) {
	a := &app{config: c, log: log, clock: with.clock, forged: &forged{log: log}}
	if a.clock == nil {
		a.clock = postgres.NewClock(time.Now, log)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.openDatabase(ctx, with.serving); err != nil {
		return nil, err
	}
	a.codec = codec.Events()
	var inline []postgres.Projection
	for _, p := range allProjections() {
		inline = append(inline, p)
	}
	guarding, err := a.openGuard(ctx, with.serving)
	if err != nil {
		return nil, err
	}
	options := []postgres.Option{postgres.WithProjections(inline...), postgres.WithLogger(log), postgres.WithNonces(rand.Reader), guarding}
	if with.serving {
		options = append(options, postgres.WithMemory()) // the sealer demands what this node appended
	}
	a.store = postgres.New(a.pool, a.codec, options...)
	if err := a.refresh(ctx); err != nil {
		return nil, err
	}
	a.resources, a.ledger = resources.NewReader(a.pool), ledger.NewReader(a.pool)
	var store eventstore.Store = a.store
	if with.recorded != nil {
		store = observedStore{store, with.recorded}
	}
	pipeline := command.NewPipeline(store, a.clock.Now, log)
	pipeline.Turns = a.store
	a.commands = command.NewService(command.Dependencies{
		Store: a.store, Pipeline: pipeline, IDs: id.NewSource(a.clock.Now, rand.Reader), Entropy: rand.Reader, Now: a.clock.Now,
		Incidents: a.resources, Storage: a.resources, Streams: a.resources,
		Catalog: catalog(c), Fixture: fixture.Fixture{}, Uploads: with.uploads, Capacity: with.capacity, Identities: with.identities,
		Compiler: with.compiler, Assessable: with.assessable, Vocabulary: with.vocabulary, Sealer: with.sealer,
		Limits: command.Limits{
			MaxVideoDuration: c.MaxVideoDuration, MaxConcurrentAnalyses: c.MaxConcurrentAnalyses,
			AnalysisQueueCap: c.AnalysisQueueCap, SandboxPerIP: c.SandboxPerIP, QuotaSecondsPerMonth: c.QuotaSecondsPerMonth,
			StoragePerAccount: int64(c.StoragePerAccount), StoragePerSandbox: int64(c.StoragePerSandbox),
			StreamQueueCap: c.StreamQueueCap, StreamMaxSessionSeconds: c.StreamMaxSession, StreamWarnAtSeconds: c.StreamWarnAt,
			UpgradesPerAddress: c.UpgradePerIP, UpgradesPerDay: c.UpgradeGlobal, SignupGrantSeconds: c.SignupGrantSeconds,
		},
	})
	// Close ends the pipeline, not the caller's context, so that accepted commands are completed.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	if a.server != nil {
		a.work.Go(func() { a.server.Supervise(running) })
	}
	a.work.Go(func() { pipeline.Run(running) })
	a.work.Go(func() { a.clock.Run(running, a.pool) })
	a.work.Go(func() {
		if err := a.store.Run(running); err != nil {
			log.Error("subscribers are not notified of new events any more", "error", err)
		}
	})
	return a, nil
}

// findDatabase sets the address of the configured Postgres, or of the embedded one, which it starts
// unless it already runs.
func (a *app) findDatabase(ctx context.Context) error {
	a.ownerURL = a.config.DatabaseURL
	if a.ownerURL == "" {
		server, err := embedded.Start(ctx, embedded.Options{
			Dir: filepath.Join(a.config.DataDir, "postgres"), BinDir: a.config.PostgresBin, Log: a.log,
		})
		if err != nil {
			return fmt.Errorf("starting the embedded Postgres: %w", err)
		}
		a.server = server
		if err := server.EnsureDatabase(ctx, databaseName); err != nil {
			return fmt.Errorf("creating the database: %w", err)
		}
		a.ownerURL = server.URL(databaseName)
	}
	return nil
}

// openDatabase connects to the database and migrates it. With serving, the database must pass the checks
// of the log.
func (a *app) openDatabase(ctx context.Context, serving bool) error {
	if err := a.findDatabase(ctx); err != nil {
		return err
	}
	if serving {
		if err := postgres.CheckServer(ctx, a.ownerURL); err != nil {
			return err
		}
	}
	if err := migrations.Up(ctx, a.ownerURL); err != nil {
		return err
	}
	if serving {
		if err := postgres.CheckLog(ctx, a.ownerURL); err != nil {
			return err
		}
	}
	pool, err := postgres.Connect(ctx, a.ownerURL)
	if err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	a.pool = pool
	return a.clock.Measure(ctx, pool)
}

// Close ends the pipeline and closes the database.
func (a *app) Close() error {
	if a.stop != nil {
		a.stop()
		a.work.Wait()
	}
	if a.pool != nil {
		a.pool.Close()
	}
	if a.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return a.server.Close(ctx)
}
