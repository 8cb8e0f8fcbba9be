package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"vqa/handlers/intake/ffmpeg/confine"

	seccomp "github.com/elastic/go-seccomp-bpf"
	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The oldest release with all options that are used. -fps_mode is the youngest of them.
const oldestMajor, oldestMinor = 5, 1

// trialTimeout bounds one trial of the program.
const trialTimeout = 20 * time.Second

// New finds ffmpeg and tests it under confinement. places are paths of the program in order of
// preference; a name without a slash is looked up in PATH. The default is "ffmpeg". New takes
// the first program that works and is new enough. Its error names each program that it found
// and the reason why it cannot be used.
func New(ctx context.Context, places ...string) (*Runner, error) {
	if len(places) == 0 {
		places = []string{"ffmpeg"}
	}
	var refused []error
	for _, place := range places {
		program, err := exec.LookPath(place)
		if err != nil {
			continue
		}
		r, err := tested(ctx, program)
		if err == nil {
			return r, nil
		}
		refused = append(refused, err)
	}
	if len(refused) == 0 {
		return nil, fmt.Errorf("ffmpeg: not found (looked for %s)", strings.Join(places, ", "))
	}
	return nil, errors.Join(refused...)
}

// isolation is the way in which a process is cut off from other processes and from the network.
type isolation int

const (
	notIsolated isolation = iota
	// isolated is a namespace of processes, and one of the network.
	isolated
	// isolatedByUser is the same in a user namespace, which needs no privilege.
	isolatedByUser
)

// ownUser is the user and group id of ffmpeg when the service is root. Distributions leave the numbers
// from 60706 to 61183 unused (systemd, "Users, Groups, UIDs and GIDs"), so it owns nothing.
const ownUser = 61000

// measures are the optional measures that this machine allows.
type measures struct {
	isolation isolation
	landlock  int // ABI version; 0 means that the kernel has no Landlock
	seccomp   bool
	user      bool // it runs as ownUser
}

// tested tries the program under all measures of the kernel. When that fails, it tries them one
// after another and leaves out those that fail.
func tested(ctx context.Context, program string) (*Runner, error) {
	r := &Runner{program: program, failed: map[string]error{}}
	ways := []isolation{isolatedByUser}
	if os.Geteuid() == 0 {
		ways = []isolation{isolated, isolatedByUser}
	}
	abi, err := landlock.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	r.measures = measures{isolation: ways[0], landlock: abi, seccomp: seccomp.Supported(), user: os.Geteuid() == 0}
	if r.trial(ctx) != nil {
		r.measures = measures{}
		if r.version, err = r.askVersion(ctx); err == nil && !tooOld(r.version) {
			err = r.trial(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("ffmpeg: %s does not work: %w", program, err)
		}
		r.tryEach(ctx, ways, abi)
	}
	if r.version, err = r.askVersion(ctx); err != nil {
		return nil, fmt.Errorf("ffmpeg: %s does not work: %w", program, err)
	}
	if tooOld(r.version) {
		return nil, fmt.Errorf("ffmpeg: %s is release %s, which is too old: %d.%d or newer is needed", program, r.version, oldestMajor, oldestMinor)
	}
	return r, nil
}

// tryEach adds the measures that work, one after another.
func (r *Runner) tryEach(ctx context.Context, ways []isolation, abi int) {
	for _, way := range ways {
		r.measures.isolation = way
		err := r.trial(ctx)
		if err == nil {
			break
		}
		r.measures.isolation, r.failed[measureNamespaces] = notIsolated, err
	}
	if r.measures.landlock = abi; abi > 0 {
		if err := r.trial(ctx); err != nil {
			r.measures.landlock, r.failed[measureFiles] = 0, err
		}
	}
	if r.measures.seccomp = seccomp.Supported(); r.measures.seccomp {
		if err := r.trial(ctx); err != nil {
			r.measures.seccomp, r.failed[measureCalls] = false, err
		}
	}
	// A user namespace that the service makes without privileges has one user only.
	if r.measures.user = os.Geteuid() == 0 && r.measures.isolation != isolatedByUser; r.measures.user {
		if err := r.trial(ctx); err != nil {
			r.measures.user, r.failed[measureUser] = false, err
		}
	}
}

// trial encodes a frame with two threads, with the filters for HDR: a build without them could not
// tell the colors of these videos.
func (r *Runner) trial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	p, err := r.Start(ctx, Job{
		InputArgs: []string{"-f", "rawvideo", "-pix_fmt", "yuvj420p", "-video_size", "16x16"},
		OutputArgs: []string{"-c:v", "mjpeg", "-threads", "2", "-f", "mjpeg", "-vf",
			strings.Join(Light{transferHLG, primaries2020}.Filters(), ","), "pipe:1"},
	})
	if err != nil {
		return err
	}
	_, _ = p.Stdin.Write(make([]byte, 16*16*3/2)) // Wait explains a broken pipe
	_ = p.Stdin.Close()
	start := make([]byte, 2)
	_, _ = io.ReadFull(p.Stdout, start)
	_, _ = io.Copy(io.Discard, p.Stdout)
	if err := p.Wait(); err != nil {
		return err
	}
	if start[0] != 0xff || start[1] != 0xd8 {
		return errors.New("it did not encode a frame")
	}
	return nil
}

// maxVersionBytes bounds the output of "ffmpeg -version".
const maxVersionBytes = 16 << 10

// askVersion returns the release that the program prints.
func (r *Runner) askVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	out, err := r.Output(ctx, Job{OutputArgs: []string{"-version"}}, maxVersionBytes)
	if err != nil {
		return "", err
	}
	rest, found := strings.CutPrefix(string(out), "ffmpeg version ")
	version, _, _ := strings.Cut(rest, " ")
	if !found || version == "" {
		return "", errors.New("it is not ffmpeg")
	}
	return version, nil
}

var release = regexp.MustCompile(`^n?(\d+)\.(\d+)`)

// tooOld compares the number of a release. A build of the development branch has no number and
// is accepted.
func tooOld(version string) bool {
	n := release.FindStringSubmatch(version)
	if n == nil {
		return false
	}
	major, _ := strconv.Atoi(n[1])
	minor, _ := strconv.Atoi(n[2])
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}

// attributes returns the attributes that the kernel sets when it creates the process.
func (r *Runner) attributes(c confine.Limits) *syscall.SysProcAttr {
	// In a session of its own, the process does not receive a Ctrl-C meant for the service.
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	switch r.measures.isolation {
	case isolated:
		a.Cloneflags = syscall.CLONE_NEWPID
	case isolatedByUser:
		a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	case notIsolated:
	}
	if r.measures.isolation != notIsolated && !c.Network {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	if r.measures.user {
		a.Credential = &syscall.Credential{Uid: ownUser, Gid: ownUser}
		a.AmbientCaps = []uintptr{unix.CAP_DAC_READ_SEARCH} // the objects belong to root
	}
	return a
}
