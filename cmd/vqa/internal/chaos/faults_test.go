package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// spell is a fault that happened.
type spell struct {
	fault
	began, healed time.Time
}

// strike carries out the plan and returns when the last fault has healed.
func (w *world) strike(ctx context.Context, began time.Time, faults []fault, tell func(string)) (spells []spell, err error) {
	spells = make([]spell, len(faults))
	errs := make([]error, len(faults))
	var all sync.WaitGroup
	for i, f := range faults {
		all.Go(func() {
			if errs[i] = until(ctx, began.Add(f.at)); errs[i] != nil {
				return
			}
			tell(fmt.Sprintf("%s begins", f))
			spells[i].fault, spells[i].began = f, time.Now()
			heal, err := w.hit(ctx, f)
			if err == nil {
				err = errors.Join(until(ctx, began.Add(f.ends())), heal())
			}
			spells[i].healed = time.Now()
			tell(fmt.Sprintf("%s has ended", f))
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", f, err)
			}
		})
	}
	all.Wait()
	return spells, errors.Join(errs...)
}

func until(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hit begins a fault. heal ends it.
func (w *world) hit(ctx context.Context, f fault) (heal func() error, err error) {
	n := w.nodes[f.node]
	switch f.kind {
	case cutOff:
		for _, p := range n.network {
			p.Silence()
		}
		return func() error {
			for _, p := range n.network {
				p.Resume()
			}
			return nil
		}, nil
	case killed:
		return n.kill()
	case stopped:
		return func() error { return n.signal(syscall.SIGCONT) }, n.signal(syscall.SIGSTOP)
	case wrongClock:
		ahead := time.Hour
		if f.reverse {
			ahead = -ahead
		}
		return func() error { return n.page.MoveClock(0) }, n.page.MoveClock(ahead)
	case fullDisk:
		return func() error { return n.page.FillDisk(false) }, n.page.FillDisk(true)
	case noObjects:
		folder := filepath.Join(w.dataDir(), "objects")
		return func() error { return w.returnObjects(folder) }, os.Rename(folder, folder+".away")
	case hungEngine:
		hit := w.engines[f.node%engineCount : f.node%engineCount+1]
		if f.reverse {
			hit = w.engines
		}
		signal := func(s syscall.Signal) (err error) {
			for _, e := range hit {
				err = errors.Join(err, e.Process.Signal(s))
			}
			return err
		}
		return func() error { return signal(syscall.SIGCONT) }, signal(syscall.SIGSTOP)
	case restartedPostgres:
		return w.restartPostgres(ctx, f)
	default:
		return nil, fmt.Errorf("unknown fault %d", f.kind)
	}
}

// kill ends the process with SIGKILL, and holds it down until it heals.
func (n *node) kill() (heal func() error, err error) {
	n.mu.Lock()
	down := make(chan struct{})
	n.heldDown = down
	n.mu.Unlock()
	return func() error { close(down); return nil }, n.signal(syscall.SIGKILL)
}

// returnObjects puts the folder of the objects back. A node may have created empty folders at its
// place and no file, because a service without its store writes nothing.
func (w *world) returnObjects(folder string) error {
	var strays []string
	var wrote error
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			strays = append(strays, path)
		}
		return nil
	})
	if len(strays) > 0 {
		wrote = fmt.Errorf("nodes wrote %v while the store was gone", strays)
	}
	return errors.Join(wrote, os.RemoveAll(folder), os.Rename(folder+".away", folder))
}

// restartPostgres ends Postgres in immediate mode twice: at the begin of the fault, when it stays down
// for a third of the time, and at two thirds, when it starts again at once.
func (w *world) restartPostgres(ctx context.Context, f fault) (heal func() error, err error) {
	lock, err := os.Open(filepath.Join(w.postgresHome, "start.lock"))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // a start needs this lock
		return nil, errors.Join(err, lock.Close())
	}
	if err := w.quitPostgres(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	again := make(chan error, 1)
	go func() {
		err := until(ctx, time.Now().Add(f.lasts/3))
		err = errors.Join(err, lock.Close(), until(ctx, time.Now().Add(f.lasts/3)))
		again <- errors.Join(err, w.quitPostgres())
	}()
	return func() error { return <-again }, nil
}

// quitPostgres sends SIGQUIT to the postmaster, as "pg_ctl stop -m immediate" does.
func (w *world) quitPostgres() error {
	text, err := os.ReadFile(filepath.Join(w.postgresHome, "cluster", "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGQUIT)
}
