package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// embeddedWorker as a setting of newService lets the service start its own worker. The others use the shared one.
const embeddedWorker = "VQA_INFERENCE_URL="

// worker is the program of the embedded worker, without a service.
type worker struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
}

// sharedWorker starts the worker that most services use. To load the models again for each service would take
// more processor time than the tests themselves.
var sharedWorker = sync.OnceValues(func() (*worker, error) {
	workerStarted = true
	// The embedded workers of other tests have this priority, too.
	w := &worker{cmd: exec.Command("nice", "-n", "2", "node", filepath.Join("src", "main.js"), "--threads", "2")}
	w.cmd.Dir = filepath.Join("..", "..", "gpu", "worker")
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = listener.Close() }() // the worker has a copy
	socket, err := listener.File()
	if err != nil {
		return nil, err
	}
	defer func() { _ = socket.Close() }()
	w.addr, w.cmd.ExtraFiles = listener.Addr().String(), []*os.File{socket}
	stdin, err := w.cmd.StdinPipe() // the worker ends when this pipe is closed
	if err != nil {
		return nil, err
	}
	w.stdin = stdin
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the worker of the tests: %w", err)
	}
	if _, err := bufio.NewReader(stdout).ReadBytes('\n'); err != nil {
		return nil, fmt.Errorf("the worker of the tests did not start: %w", err)
	}
	return w, nil
})

// workerStarted is true once a test has asked for the shared worker.
var workerStarted bool

// closeWorker ends the shared worker, if it runs. The tests that needed one that did not start have failed.
func closeWorker() error {
	if !workerStarted {
		return nil
	}
	w, failed := sharedWorker()
	if failed == nil {
		return errors.Join(w.stdin.Close(), w.cmd.Wait())
	}
	return nil
}
