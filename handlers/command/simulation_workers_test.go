package command

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/handlers/intake/fixture"
)

// assignmentEnv is the variable with the assignment. It makes this test binary one of the processes of
// TestThreeProcesses.
const assignmentEnv = "VQA_TEST_ASSIGNMENT"

func init() {
	if text := os.Getenv(assignmentEnv); text != "" {
		if err := work(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// assignment configures a process.
type assignment struct {
	Name     string
	URL      string
	Accounts []workplace
}

// workplace is an account with a video that bills 10 seconds.
type workplace struct {
	Caller  Caller
	VideoID string
}

// request is a line in the output of a process. The process writes one before each command and
// another one with the response.
type request struct {
	Name, Kind, Account, Subject string
	Done                         bool
	Code                         string
	// Before and After are the versions of the account's ledger around a command that was
	// refused because of too few credits.
	Before, After int64
	repeated      bool
}

// process is one of the three processes.
type process struct {
	*Service
	assignment
	count atomic.Int64
}

// processClients is the number of simultaneous clients in a process.
const processClients = 6

// work is the main function of a process. It runs commands until its input ends and writes each one to
// its output.
func work(text string) error {
	p := &process{}
	if err := json.Unmarshal([]byte(text), &p.assignment); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), processLimit)
	defer cancel()
	pool, err := postgres.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	now := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	store := postgres.New(pool, codec.Events(), inlineModels())
	pipeline := NewPipeline(store, now, slog.New(slog.DiscardHandler))
	pipeline.Turns = store
	p.Service = NewService(Dependencies{
		Store: store, Pipeline: pipeline, IDs: id.NewSource(now, rand.Reader), Entropy: rand.Reader, Now: now,
		Catalog:  model.Catalog{{ID: "main-2", Status: model.Stable, Default: true}},
		Limits:   Limits{MaxVideoDuration: time.Hour, MaxConcurrentAnalyses: 1 << 20, AnalysisQueueCap: 1 << 20, SandboxPerIP: 1},
		Uploads:  &intake{},
		Capacity: &capacity{}, Fixture: fixture.Fixture{},
	})
	running, stop := context.WithCancel(ctx)
	var lanes, clients sync.WaitGroup
	lanes.Go(func() { pipeline.Run(running) })
	told := make(chan struct{})
	go func() { // it ends with the process
		defer close(told)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for range processClients {
		clients.Go(func() {
			random := mathrand.New(mathrand.NewPCG(mathrand.Uint64(), 1))
			for {
				select {
				case <-told:
					return
				default:
					p.act(ctx, random)
				}
			}
		})
	}
	clients.Wait()
	stop()
	lanes.Wait()
	return nil
}

// request runs one command and writes its lines. Each line is written at once, so that a kill loses no
// earlier line.
func (p *process) request(kind, accountID, subject string, run func(name string) error) {
	r := request{
		Name: fmt.Sprintf("req_%s_%d", p.Name, p.count.Add(1)), Kind: kind, Account: accountID, Subject: subject, Before: p.version(accountID),
	}
	p.say(r)
	err := run(r.Name)
	r.Done, r.Code = true, "ok"
	switch f := fault.Of(err); {
	case f != nil:
		r.Code = string(f.Code)
	case err != nil:
		r.Code = err.Error()
	}
	r.After = p.version(accountID)
	p.say(r)
}

// version returns the version of an account's ledger.
func (p *process) version(accountID string) int64 {
	stream := credits.Stream(accountID)
	h, err := p.Store.Load(context.Background(), stream)
	if err != nil {
		return 0
	}
	return h[stream].Version
}

func (p *process) say(r request) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(1) // the reader of the output has ended
	}
}

// workers runs the processes for the test.
type workers struct {
	t          *testing.T
	ctx        context.Context
	assignment assignment
	random     *mathrand.Rand
	started    int
	said       chan workerOutput
	requests   map[string]*request
}

// workerOutput is a line of a process, or its end.
type workerOutput struct {
	by      *member
	request request
	ended   error
	over    bool
}

// member is a running process.
type member struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	killed bool
}

// run runs the processes and kills some, until there are enough responses.
func (c *workers) run() {
	c.requests = map[string]*request{}
	var workers []*member
	for range processes {
		workers = append(workers, c.start())
	}
	answers, kills, next := 0, 0, 50
	for alive := processes; alive > 0; {
		s := <-c.said
		if s.over {
			alive--
			if s.by.killed {
				continue
			}
			require.NoError(c.t, s.ended)
			require.GreaterOrEqual(c.t, answers, processAnswers, "a process ended by itself")
			continue
		}
		r := s.request
		c.requests[r.Name] = &r
		if !r.Done {
			continue
		}
		if answers++; answers == processAnswers {
			for _, m := range workers {
				require.NoError(c.t, m.stdin.Close())
			}
		}
		if answers == next && kills < processKills {
			kills++
			next += 100 + c.random.IntN(200)
			i := c.random.IntN(processes)
			workers[i].killed = true
			require.NoError(c.t, workers[i].cmd.Process.Kill())
			workers[i] = c.start()
			alive++
		}
	}
}

// start starts a process and forwards its output.
func (c *workers) start() *member {
	c.started++
	c.assignment.Name = fmt.Sprintf("p%d", c.started)
	text, err := json.Marshal(c.assignment)
	require.NoError(c.t, err)
	self, err := os.Executable()
	require.NoError(c.t, err)
	m := &member{cmd: exec.CommandContext(c.ctx, self)}
	m.cmd.Env = append(os.Environ(), assignmentEnv+"="+string(text))
	var complaint strings.Builder
	m.cmd.Stderr = &complaint
	m.stdin, err = m.cmd.StdinPipe()
	require.NoError(c.t, err)
	out, err := m.cmd.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, m.cmd.Start())
	go func() { // it ends with the process, and run waits for that
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var r request
			if err := json.Unmarshal(lines.Bytes(), &r); err == nil {
				c.tell(workerOutput{by: m, request: r})
			}
		}
		err := m.cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, &complaint)
		}
		c.tell(workerOutput{by: m, over: true, ended: err})
	}()
	return m
}

// tell sends output to run, unless the test has ended.
func (c *workers) tell(s workerOutput) {
	select {
	case c.said <- s:
	case <-c.ctx.Done():
	}
}
