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

// assignmentEnv makes this test binary one of the processes of TestThreeProcesses. It
// holds the assignment.
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

// assignment is what a process is told.
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

// request is what a process says about a command: before it gives it, and again with the
// answer.
type request struct {
	Name, Kind, Account, Subject string
	Done                         bool
	Code                         string
	// Before and After are versions of the account's ledger around a command that was
	// refused for want of credits.
	Before, After int64
	repeated      bool
}

// process is one of the three.
type process struct {
	*Service
	assignment
	count atomic.Int64
}

// processClients give commands at the same time.
const processClients = 6

// work is the life of a process: commands until its input ends, each told on its output.
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

// request carries out one command and tells of it. A line is written at once and whole,
// so that a kill loses none that came before it.
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

// version is that of an account's ledger.
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
		os.Exit(1) // nobody listens any more
	}
}

// crew are the processes as the test sees them.
type crew struct {
	t          *testing.T
	ctx        context.Context
	assignment assignment
	random     *mathrand.Rand
	started    int
	said       chan saying
	requests   map[string]*request
}

// saying is a line of a process, or that it has ended.
type saying struct {
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

// run lets the crew work, with kills, until there are answers enough.
func (c *crew) run() {
	c.requests = map[string]*request{}
	var crew []*member
	for range processes {
		crew = append(crew, c.start())
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
			for _, m := range crew {
				require.NoError(c.t, m.stdin.Close())
			}
		}
		if answers == next && kills < processKills {
			kills++
			next += 100 + c.random.IntN(200)
			i := c.random.IntN(processes)
			crew[i].killed = true
			require.NoError(c.t, crew[i].cmd.Process.Kill())
			crew[i] = c.start()
			alive++
		}
	}
}

// start starts a process and passes on what it says.
func (c *crew) start() *member {
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
				c.tell(saying{by: m, request: r})
			}
		}
		err := m.cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, &complaint)
		}
		c.tell(saying{by: m, over: true, ended: err})
	}()
	return m
}

// tell passes something on to run, unless the test has ended.
func (c *crew) tell(s saying) {
	select {
	case c.said <- s:
	case <-c.ctx.Done():
	}
}
