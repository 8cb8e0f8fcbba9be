package frames

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxAddressSpace bounds the memory of one ffmpeg; 8K video takes 0.45 GB of it.
	maxAddressSpace = 4 << 30
	// maxPixels of one picture: 8192x8192.
	maxPixels = 8192 * 8192
	// formats are the containers that are opened: none of them can refer to other
	// files, as playlists can.
	formats = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,ogg,h264,hevc,mjpeg,gif,asf"
)

// mode is which pictures are wanted.
type mode int

const (
	sampled mode = iota // one at each instant of the grid
	sought              // the same, decoding from the key picture before the first part on
	first               // the first one only
)

// arguments of ffmpeg. Standard output carries the JPEGs (multipart, with lengths),
// file descriptor 3 a line with the time of each.
func arguments(source string, opts Options, mode mode) []string {
	args := []string{"-nostdin", "-hide_banner", "-v", "error", "-max_alloc", strconv.Itoa(1 << 30)}
	args = append(args, InputArguments(source)...)
	args = append(args, "-threads", strconv.Itoa(decodeThreads()), "-max_pixels", strconv.Itoa(maxPixels))
	if opts.Coarse {
		args = append(args, "-skip_frame", "noref")
	}
	if mode == sought {
		// All pictures from there on, with the times of the video: the one that is on view at
		// the first instant may have come long before it.
		args = append(args, "-noaccurate_seek", "-copyts", "-start_at_zero", "-ss", decimal(opts.Within[0].From))
	}
	args = append(args, "-i", InputName(source), "-map", "0:V:0", "-vf", filters(opts, mode))
	if mode == first {
		args = append(args, "-frames:v", "1")
	}
	// The encoder raises a quality below its qmin, which is 2 unless set.
	return append(args, "-vsync", "passthrough", "-c:v", "mjpeg", "-threads", "1", "-qmin", "1", "-q:v", "1", "-f", "mpjpeg", "pipe:1")
}

// decodeThreads: the cores belong to inference, which takes several times as long as
// decoding; a second decoding thread costs a fifth more work than it shares.
func decodeThreads() int {
	return min(4, max(1, runtime.GOMAXPROCS(0)/4))
}

// InputArguments are what every ffmpeg that reads a stranger's video is given before -i: the
// protocols and containers that it may open, none of which refer to other files.
func InputArguments(source string) []string {
	if isURL(source) {
		return []string{"-protocol_whitelist", "http,https,tcp,tls", "-format_whitelist", formats,
			"-rw_timeout", strconv.FormatInt((15 * time.Second).Microseconds(), 10)}
	}
	return []string{"-protocol_whitelist", "file", "-format_whitelist", formats}
}

func isURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// InputName is what stands after -i; it keeps ffmpeg from reading a path as an option or as another protocol.
func InputName(source string) string {
	if isURL(source) {
		return source
	}
	return "file:" + source
}

// filters: the grid (rounding up gives each instant the last picture before it), the
// time on descriptor 3, then the size. A JPEG is always read as full range BT.601,
// whatever the video is coded in.
func filters(opts Options, mode mode) string {
	scale := fmt.Sprintf("min(1,%d/max(iw*sar,ih))", opts.LongSide)
	chain := []string{
		"metadata=mode=add:key=at:value=1",
		`metadata=mode=print:key=at:direct=1:file='pipe\:3'`,
		fmt.Sprintf("scale=w='max(1,round(iw*sar*%s))':h='max(1,round(ih*%s))':flags=area:out_range=pc:out_color_matrix=bt601", scale, scale),
		"setsar=1", "format=yuvj420p",
	}
	if mode != first {
		chain = append(grid(opts), chain...)
	}
	return strings.Join(chain, ",")
}

// grid picks the instants that are wanted; decoding ends behind the last.
func grid(opts Options) []string {
	rate := "fps=fps=" + strconv.FormatFloat(opts.FPS, 'f', -1, 64) + ":round=up"
	n := len(opts.Within)
	if n == 0 {
		return []string{rate}
	}
	// Instants are steps of the grid: a quarter of one tells them apart.
	step := 1 / opts.FPS
	parts := make([]string, n)
	for i, s := range opts.Within {
		parts[i] = `between(t\,` + decimal(s.From-step/4) + `\,` + decimal(s.To+step/4) + ")"
	}
	return []string{"trim=end=" + decimal(opts.Within[n-1].To+step), rate, "select='" + strings.Join(parts, "+") + "'"}
}

func decimal(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 6, 64) }

// Confine bounds the memory of a running ffmpeg; one that has ended already is no error.
func Confine(pid int) error {
	limit := unix.Rlimit{Cur: maxAddressSpace, Max: maxAddressSpace}
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// process is a running ffmpeg.
type process struct {
	cmd      *exec.Cmd
	pictures *bufio.Reader
	times    *bufio.Reader
	timesEnd *os.File
	stderr   Tail
}

// start runs ffmpeg; it is killed when ctx ends. The caller must call wait.
func start(ctx context.Context, args []string) (*process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("frames: %w", err)
	}
	// The child has its own copy.
	defer func() { _ = write.Close() }()
	p := &process{cmd: exec.CommandContext(ctx, "ffmpeg", args...), times: bufio.NewReaderSize(read, 256), timesEnd: read}
	p.cmd.ExtraFiles = []*os.File{write}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = 5 * time.Second
	// A group of its own: a Ctrl-C for the service is the service's to handle.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("frames: start ffmpeg: %w", err)
	}
	if err := Confine(p.cmd.Process.Pid); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.wait()
		return nil, fmt.Errorf("frames: limit ffmpeg: %w", err)
	}
	p.pictures = bufio.NewReaderSize(stdout, 64<<10)
	return p, nil
}

// frames reads frame after frame. It returns nil at the end of the output, errBreak
// when yield wants no more.
func (p *process) frames(opts Options, mode mode, yield func(Frame) bool) error {
	for {
		jpeg, err := readPart(p.pictures)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// The filter wrote the time before the encoder saw the picture.
		when, err := readTime(p.times)
		if err != nil {
			return err
		}
		if !yield(Frame{At: when.at(opts, mode), JPEG: jpeg}) {
			return errBreak
		}
	}
}

// wait reaps the process and lets go of its pipes.
func (p *process) wait() error {
	defer func() { _ = p.timesEnd.Close() }()
	return p.cmd.Wait()
}

// said is the end of what ffmpeg complained about; only after wait.
func (p *process) said() string { return p.stderr.String() }
