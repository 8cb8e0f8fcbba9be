package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vqa/handlers/intake/ffmpeg/confine"
)

// The default limits of one process.
const (
	// maxAddressSpace in bytes. 8K video takes 0.45 GB.
	maxAddressSpace = 4 << 30
	// probeAddressSpace is that of a Probe: the first frame of 8192x8192 takes 1.0 GB in HEVC, with one thread.
	probeAddressSpace = 3 << 29
	// oomScore and probeOOMScore are the oom_score_adj: when memory ends, probes end first, then other jobs, and
	// the service and its database last.
	oomScore, probeOOMScore = 500, 1000
	// maxAlloc bounds one allocation of ffmpeg, in bytes.
	maxAlloc = 1 << 30
	// maxPixels of one frame: 8192x8192.
	maxPixels = 8192 * 8192
	// maxFiles is the number of open files. Shared libraries are opened one after another.
	maxFiles = 64
	// maxThreads of a process, where the kernel can count them separately.
	maxThreads = 128
	// networkTimeout bounds the time without data from a server.
	networkTimeout = 15 * time.Second
)

// defaultCPU is the CPU time of a Job that sets none.
const defaultCPU = time.Minute

// Job is one run of ffmpeg.
type Job struct {
	// Input is the path of a file, an http or https URL, or the rtsp URL of a camera. When it is empty, the job reads
	// Process.Stdin in the format that InputArgs name.
	Input string
	// InputArgs are options of the input, without -i, -f and limits.
	InputArgs []string
	// OutputArgs follow the input. "pipe:1" among them is Process.Stdout.
	OutputArgs []string
	// Output is the path of a file that the job writes, replacing an earlier file. It becomes
	// the last argument.
	Output string
	// OutputBytes is the largest size of Output.
	OutputBytes int64
	// Probe says that nobody has accepted the input yet: the process gets less memory.
	Probe bool
	// Side becomes descriptor 3 of ffmpeg. The caller closes its own copy.
	Side *os.File
	// CPU bounds the CPU time of all threads together, in whole seconds, rounded up. The
	// default is one minute.
	CPU time.Duration
}

// Runner starts ffmpeg. It is safe for concurrent use.
type Runner struct {
	program, version string
	measures         measures
	// failed are the measures that the kernel has but that fail with this program.
	failed map[string]error
	// started is called with the id of each process that has started. It may be nil.
	started func(pid int)
}

// Observed returns a runner of the same program that calls started with the id of each process
// that has started.
func (r *Runner) Observed(started func(pid int)) *Runner {
	observed := *r
	observed.started = started
	return &observed
}

// Path returns the path of the program.
func (r *Runner) Path() string { return r.program }

// Version returns the release that the program prints, for example "5.1.6-0+deb12u1".
func (r *Runner) Version() string { return r.version }

// Remote reports whether a source is a URL rather than the path of a file.
func Remote(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// camera reports whether a source is the URL of a camera.
func camera(source string) bool { return strings.HasPrefix(source, "rtsp://") }

// shown are input options that decide which frames a file shows: the filters begin again where the
// size changes. The documentation of the package lists the defaults that frames depend on.
var shown = []string{"-reinit_filter", "1"}

// arguments returns the arguments of ffmpeg for a job.
func (j Job) arguments() []string {
	args := []string{"-nostdin", "-hide_banner", "-v", "error", "-max_alloc", strconv.Itoa(maxAlloc)}
	name := "pipe:0"
	switch {
	case Remote(j.Input):
		// With a fixed demuxer, a source is decoded in the same format as it was probed.
		args = append(args, "-protocol_whitelist", protocols(j.Input), "-rw_timeout", strconv.FormatInt(networkTimeout.Microseconds(), 10),
			"-f", "mov", "-max_pixels", strconv.Itoa(maxPixels))
		name = j.Input
	case camera(j.Input):
		// All of RTSP goes through one TCP connection, so that one port is enough.
		args = append(args, "-protocol_whitelist", "tcp", "-rtsp_transport", "tcp", "-timeout", strconv.FormatInt(networkTimeout.Microseconds(), 10),
			"-f", "rtsp", "-max_pixels", strconv.Itoa(maxPixels))
		name = j.Input
	case j.Input != "":
		args = append(args, "-protocol_whitelist", "file", "-f", "mov", "-max_pixels", strconv.Itoa(maxPixels))
		// The prefix keeps a path from being read as an option or as another protocol.
		name = "file:" + j.Input
	default:
		args = append(args, "-protocol_whitelist", "pipe")
	}
	if j.Input != "" {
		args = append(args, shown...)
	}
	args = append(append(append(args, j.InputArgs...), "-i", name), j.OutputArgs...)
	if j.Output != "" {
		args = append(args, "-y", "file:"+j.Output)
	}
	return args
}

func protocols(source string) string {
	if strings.HasPrefix(source, "https:") {
		return "https,tls,tcp"
	}
	return "http,tcp"
}

// libraries are the folders with shared libraries of distributions and of common package
// managers. Folders that do not exist are ignored.
var libraries = []string{
	"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew",
}

var (
	// essentials are files that every program may need.
	essentials = []string{"/etc/ld.so.cache", "/dev/null", "/dev/urandom", "/dev/random"}
	// resolving are the files for finding a host and checking its certificate.
	resolving = []string{
		"/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/ssl/openssl.cnf",
	}
	certificates = []string{
		"/etc/ssl/certs", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
		"/etc/gnutls", "/etc/crypto-policies", "/usr/share/crypto-policies", "/run/systemd/resolve",
	}
)

// confine returns the limits of a job.
func (r *Runner) confine(j Job) (confine.Limits, error) {
	cpu := j.CPU
	if cpu == 0 {
		cpu = defaultCPU
	}
	c := confine.Limits{
		Program: r.program, CPUSeconds: uint64((cpu + time.Second - 1) / time.Second), AddressSpace: maxAddressSpace,
		OOMScore: oomScore, Files: maxFiles, Landlock: r.measures.landlock > 0, Seccomp: r.measures.seccomp,
		Network: Remote(j.Input) || camera(j.Input), Read: append([]string{r.program}, essentials...), Folders: r.folders(),
	}
	if r.measures.isolation == isolatedByUser {
		c.Threads = maxThreads
	}
	if j.Probe {
		c.AddressSpace, c.OOMScore = probeAddressSpace, probeOOMScore
	}
	switch {
	case c.Network:
		port, err := portOf(j.Input)
		if err != nil {
			return c, err
		}
		c.Ports = []uint16{port, 53}
		c.Read, c.Folders = append(c.Read, resolving...), append(c.Folders, certificates...)
	case j.Input != "":
		path, err := regular(j.Input)
		if err != nil {
			return c, err
		}
		c.Read = append(c.Read, path)
	}
	if j.Output != "" {
		path, err := filepath.Abs(j.Output)
		if err != nil {
			return c, fmt.Errorf("ffmpeg: %w", err)
		}
		c.Write, c.FileBytes = append(c.Write, path), uint64(max(0, j.OutputBytes))+1
	}
	return c, nil
}

// folders returns the folders with the libraries of the program.
func (r *Runner) folders() []string {
	all := slices.Clone(libraries)
	if real, err := filepath.EvalSymlinks(r.program); err == nil {
		all = append(all, filepath.Join(filepath.Dir(filepath.Dir(real)), "lib"))
	}
	return all
}

// regular returns the absolute path of an input. A missing file is not an error here, because
// ffmpeg reports it.
func regular(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("ffmpeg: %s is not a regular file", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("ffmpeg: %w", err)
	}
	return filepath.Abs(path)
}

func portOf(source string) (uint16, error) {
	u, err := url.Parse(source)
	if err != nil {
		return 0, errors.New("ffmpeg: the URL of the source is not valid") // the URL may be signed: do not print it
	}
	switch {
	case u.Port() != "":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return 0, errors.New("ffmpeg: the URL of the source has no valid port")
		}
		return uint16(port), nil
	case u.Scheme == "https":
		return 443, nil
	case u.Scheme == "rtsp":
		return 554, nil
	}
	return 80, nil
}

// Start runs a job. The process is killed when ctx ends. The caller must call Wait.
//
// Start returns an error when the input is not a regular file, the output cannot be created, or
// the process cannot be started. Wait reports the errors of ffmpeg.
func (r *Runner) Start(ctx context.Context, job Job) (*Process, error) {
	c, err := r.confine(job)
	if err != nil {
		return nil, err
	}
	if job.Output != "" {
		// Landlock can allow writing a file only if the file exists.
		out, err := os.OpenFile(job.Output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("ffmpeg: %w", err)
		}
		if r.measures.user {
			err = out.Chown(ownUser, ownUser)
		}
		if err := errors.Join(err, out.Close()); err != nil {
			return nil, fmt.Errorf("ffmpeg: %w", err)
		}
	}
	return r.launch(ctx, c, job.arguments(), job)
}
