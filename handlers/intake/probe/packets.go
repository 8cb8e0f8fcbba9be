package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
)

const (
	// discarded is the flag of a packet that an edit list removes (AV_PKT_FLAG_DISCARD).
	discarded = 0x4
	// maxLine bounds one line of framecrc, in bytes.
	maxLine = 4 << 10
	// maxDensity is the largest number of frames per second. All frames are decoded, but only
	// seconds are billed. Cameras record up to 960 frames per second.
	maxDensity = 1000
	// maxMicros bounds the computed length of a nonsensical file: 31 years.
	maxMicros = 1e15
)

// packets summarizes the lines of framecrc about the packets or frames of a video stream.
type packets struct {
	// num/den is the time base in seconds.
	num, den int64
	// width and height are in pixels; 0 means that the lines do not have them.
	width, height int
	// count is the number of shown packets, ticks the sum of their durations.
	count, ticks int64
	// end is the end of the last shown packet, in ticks.
	end int64
}

// readPackets reads the output of framecrc: comments such as "#tb 0: 1/30000", and one line
// for each packet, "stream, dts, pts, duration, size, checksum" and, for some, ", F=" with
// the flags.
func readPackets(r io.Reader) (packets, error) {
	p := packets{end: math.MinInt64}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 512), maxLine)
	for lines.Scan() {
		line := lines.Bytes()
		switch {
		case len(line) == 0:
		case line[0] == '#':
			p.comment(string(line))
		default:
			if err := p.packet(line); err != nil {
				return p, err
			}
		}
	}
	return p, lines.Err()
}

func (p *packets) comment(line string) {
	var num, den int64
	if n, _ := fmt.Sscanf(line, "#tb 0: %d/%d", &num, &den); n == 2 && num > 0 && den > 0 {
		p.num, p.den = num, den
	}
	var width, height int
	if n, _ := fmt.Sscanf(line, "#dimensions 0: %dx%d", &width, &height); n == 2 && width > 0 && height > 0 {
		p.width, p.height = width, height
	}
}

func (p *packets) packet(line []byte) error {
	fields := bytes.Split(line, []byte(","))
	if len(fields) < 6 {
		return fmt.Errorf("probe: line of ffmpeg: %q", line)
	}
	pts, err := number(fields[2])
	if err != nil {
		return err
	}
	duration, err := number(fields[3])
	if err != nil {
		return err
	}
	for _, field := range fields[6:] {
		hex, is := bytes.CutPrefix(bytes.TrimSpace(field), []byte("F=0x"))
		if flags, err := strconv.ParseUint(string(hex), 16, 32); is && err == nil && flags&discarded != 0 {
			return nil
		}
	}
	if pts == math.MinInt64 || duration < 0 || pts > math.MaxInt64-duration || p.ticks > math.MaxInt64-duration {
		return nil // the packet has no time, or an impossible one
	}
	p.count++
	p.ticks += duration
	p.end = max(p.end, pts+duration)
	return nil
}

func number(field []byte) (int64, error) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(field)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("probe: line of ffmpeg: %w", err)
	}
	return n, nil
}

// durationMicros is the end of the stream on the clock of the file, rounded to the nearest
// microsecond. It is nil when no packet is shown after the start.
func (p packets) durationMicros() *int64 {
	if p.count == 0 || p.den == 0 || p.end <= 0 {
		return nil
	}
	micros := new(big.Rat).SetFrac(
		new(big.Int).Mul(big.NewInt(p.end), big.NewInt(p.num)), big.NewInt(p.den))
	micros.Mul(micros, big.NewRat(1e6, 1))
	rounded := new(big.Int).Quo(new(big.Int).Add(new(big.Int).Lsh(micros.Num(), 1), micros.Denom()), new(big.Int).Lsh(micros.Denom(), 1))
	d := int64(maxMicros)
	if rounded.IsInt64() {
		d = max(1, min(d, rounded.Int64()))
	}
	return &d
}

// dense reports whether the stream has more than maxDensity packets per second, where a started
// second counts in full.
func (p packets) dense() bool {
	seconds := int64(1)
	if micros := p.durationMicros(); micros != nil {
		seconds = (*micros + 999_999) / 1_000_000
	}
	return p.count > maxDensity*seconds
}

// fps is the average frame rate. It is nil when the packets have no durations. It divides only
// once, so 30000/1001 is exact.
func (p packets) fps() *float64 {
	if p.count == 0 || p.num == 0 || p.ticks == 0 {
		return nil
	}
	rate, _ := new(big.Rat).SetFrac(
		new(big.Int).Mul(big.NewInt(p.count), big.NewInt(p.den)),
		new(big.Int).Mul(big.NewInt(p.ticks), big.NewInt(p.num))).Float64()
	return &rate
}
