package probe

import (
	"bytes"
	"context"

	"vqa/handlers/intake/ffmpeg"
)

const (
	// maxFrameBytes bounds the output for one frame.
	maxFrameBytes = 64 << 10
	// beyond is a time after the end of every video, in seconds. Seeking there leads to the
	// last key frame.
	beyond = "10000000"
)

// displayed makes pixels square, as browsers do: the shorter side of a pixel grows.
const displayed = "scale=w='round(iw*max(1,sar))':h='round(ih*max(1,1/sar))'"

// frame decodes the first frame of the stream that is later sampled and drawn. It returns the
// size at which it is displayed.
func (p *Prober) frame(ctx context.Context, source ffmpeg.Source) (Video, error) {
	out, err := p.ffmpeg.Output(ctx, ffmpeg.Job{
		Probe: true, Input: source.Name, InputArgs: []string{"-threads", "1"},
		OutputArgs: []string{"-map", source.Map(), "-frames:v", "1", "-vf", displayed, "-threads", "1", "-f", "framecrc", "pipe:1"},
	}, maxFrameBytes)
	if err != nil {
		return Video{}, err
	}
	frame, err := readPackets(bytes.NewReader(out))
	if err != nil {
		return Video{}, err
	}
	if frame.count == 0 {
		return Video{}, unreadable("No frame of the video can be decoded.")
	}
	var v Video
	if frame.width > 0 {
		v.Width, v.Height = &frame.width, &frame.height
	}
	return v, nil
}

// packets reads the timestamps of the video stream without decoding it. As in package frames,
// time 0 is the start of the file.
func (p *Prober) packets(ctx context.Context, source ffmpeg.Source, seek ...string) (packets, error) {
	process, err := p.ffmpeg.Start(ctx, ffmpeg.Job{
		Probe: true, Input: source.Name, InputArgs: append([]string{"-copyts", "-start_at_zero"}, seek...),
		OutputArgs: []string{"-map", source.Map(), "-c", "copy", "-copyinkf", "-copypriorss", "1", "-f", "framecrc", "pipe:1"},
	})
	if err != nil {
		return packets{}, err
	}
	found, err := readPackets(process.Stdout)
	if exit := process.Wait(); exit != nil {
		return found, exit
	}
	return found, err
}
