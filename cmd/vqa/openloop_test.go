package main_test

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// openLoop sends requests when they are due, independent of the responses. It writes prepared bytes
// to its own connections, because net/http would use more processor time than the service saves.
type openLoop struct {
	addr  string
	shots []*shot

	mu   sync.Mutex
	idle []*openConn
	all  []*openConn
}

// shot is one planned request and its response.
type shot struct {
	kind    int
	due     time.Duration
	payload []byte

	// took is the time from due to the end of the response. It includes the delay of the client.
	took       time.Duration
	status     int
	retryAfter int
	err        error
}

// openConn is a connection that is kept open.
type openConn struct {
	net.Conn
	read *bufio.Reader
}

// openLimit bounds the open connections. A request that is due beyond it waits, and the wait counts.
const openLimit = 4096

// plan adds a request.
func (l *openLoop) plan(kind int, due time.Duration, payload []byte) {
	l.shots = append(l.shots, &shot{kind: kind, due: due, payload: payload})
}

// run sends all planned requests and returns them with their responses.
func (l *openLoop) run() []*shot {
	slices.SortStableFunc(l.shots, func(a, b *shot) int { return cmp.Compare(a.due, b.due) })
	var running sync.WaitGroup
	free := make(chan struct{}, openLimit)
	began := time.Now()
	for _, s := range l.shots {
		time.Sleep(time.Until(began.Add(s.due)))
		free <- struct{}{}
		running.Go(func() {
			s.err = l.send(s)
			s.took = time.Since(began) - s.due
			<-free
		})
	}
	running.Wait()
	return l.shots
}

func (l *openLoop) send(s *shot) error {
	w, err := l.take()
	if err != nil {
		return err
	}
	if _, err := w.Write(s.payload); err != nil {
		return err
	}
	resp, err := http.ReadResponse(w.read, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	s.status = resp.StatusCode
	s.retryAfter, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	if resp.Close {
		return nil
	}
	l.mu.Lock()
	l.idle = append(l.idle, w)
	l.mu.Unlock()
	return nil
}

// take returns an idle connection, or a new one.
func (l *openLoop) take() (*openConn, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 {
		w := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return w, nil
	}
	l.mu.Unlock()
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		return nil, err
	}
	w := &openConn{conn, bufio.NewReader(conn)}
	l.mu.Lock()
	l.all = append(l.all, w)
	l.mu.Unlock()
	return w, nil
}

func (l *openLoop) close() {
	for _, w := range l.all {
		_ = w.Close()
	}
}
