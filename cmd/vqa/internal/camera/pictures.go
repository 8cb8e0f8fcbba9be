package camera

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"vqa/handlers/intake/ffmpeg"
)

const (
	// rate is the number of pictures per second.
	rate = 30
	// maxSide bounds the longer side. The engine gets 640 pixels.
	maxSide = 1280
	// maxPicture bounds a picture in bytes, as the service does.
	maxPicture = 4 << 20
	// cpuTime bounds ffmpeg. A session has an hour by default, on all cores.
	cpuTime = 24 * time.Hour
)

// delimiter is the NAL unit with which each picture begins.
var delimiter = []byte{0, 0, 0, 1, 9}

// Pictures are the pictures of a source in H.264, at the speed of the source. They are for one goroutine.
type Pictures struct {
	process *ffmpeg.Process
	read    []byte // begins with a delimiter
}

// Open starts to read a source, which is the path of a file or an rtsp URL. loop repeats a file without end.
// ffmpeg is killed when ctx ends. The caller must call Close.
func Open(ctx context.Context, runner *ffmpeg.Runner, source string, loop bool) (*Pictures, error) {
	var input []string
	if loop {
		input = append(input, "-stream_loop", "-1")
	}
	side := fmt.Sprintf("min(1,%d/max(iw*sar,ih))", maxSide)
	filters := fmt.Sprintf("fps=%d,scale=w='2*round(iw*sar*%s/2)':h='2*round(ih*%s/2)',setsar=1,format=yuv420p", rate, side, side)
	p, err := runner.Start(ctx, ffmpeg.Job{
		Input: source, InputArgs: append(input, "-re"),
		OutputArgs: []string{
			"-map", "0:V:0", "-an", "-vf", filters, "-c:v", "libx264", "-profile:v", "baseline", "-preset", "veryfast", "-tune", "zerolatency",
			"-g", strconv.Itoa(rate), "-b:v", "1500k", "-maxrate", "1500k", "-bufsize", "750k", "-x264-params", "aud=1:scenecut=0",
			"-flush_packets", "1", "-f", "h264", "pipe:1",
		},
		CPU: cpuTime,
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name(source), err)
	}
	return &Pictures{process: p}, nil
}

// Next returns the next picture, or io.EOF after the last one.
func (p *Pictures) Next() ([]byte, error) {
	buffer := make([]byte, 64<<10)
	searched := len(delimiter)
	for {
		if at := bytes.Index(p.read[min(searched, len(p.read)):], delimiter); at >= 0 {
			return p.take(searched + at), nil
		}
		searched = max(searched, len(p.read)-len(delimiter)+1)
		if len(p.read) > maxPicture {
			return nil, errors.New("a picture of ffmpeg is larger than 4 MiB")
		}
		n, err := p.process.Stdout.Read(buffer)
		p.read = append(p.read, buffer[:n]...)
		switch {
		case errors.Is(err, io.EOF) && len(p.read) > 0:
			return p.take(len(p.read)), nil
		case err != nil:
			return nil, err //nolint:wrapcheck // io.EOF stays as it is
		}
	}
}

// take removes the first n bytes.
func (p *Pictures) take(n int) []byte {
	picture := bytes.Clone(p.read[:n])
	p.read = append(p.read[:0], p.read[n:]...)
	return picture
}

// Close ends ffmpeg. Its error says why the source could not be read to its end.
func (p *Pictures) Close() error { return p.process.Wait() }
