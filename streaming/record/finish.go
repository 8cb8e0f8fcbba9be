package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"vqa/domain/fault"
	"vqa/domain/stream"
)

// FFmpeg starts ffmpeg; handlers/intake/ffmpeg implements it.
type FFmpeg interface {
	// WriteFile starts ffmpeg, which reads the bytes that are written to the result. It writes the
	// file at path with at most limit bytes. The input options come before the source, the output options
	// after it. Close ends the input, waits and returns how ffmpeg ended. The process is killed
	// when ctx ends, or when it has used the CPU time.
	WriteFile(ctx context.Context, input, output []string, path string, limit int64, cpu time.Duration) (io.WriteCloser, error)
}

// maxPixels of a picture: 4096x4096, as streaming/decode allows.
const maxPixels = 4096 * 4096

// input and output are the options of ffmpeg; see the documentation of the package. The time scale
// is that of RTP, so that no time is rounded. The default probing finds the order of B-frames.
var (
	input  = []string{"-max_pixels", strconv.Itoa(maxPixels), "-threads", "1", "-f", "ivf"}
	output = []string{
		"-map", "0:v:0", "-c", "copy", "-copyinkf", "-video_track_timescale", "90000", "-movflags", "+faststart",
		"-map_metadata", "-1", "-fflags", "+bitexact", "-f", "mp4",
	}
)

// The CPU time of ffmpeg. Finish took 12 s for 1.15 GB, with everything
// else that it does (BenchmarkFinish).
const (
	cpuTime       = time.Minute
	cpuTimePerGiB = time.Minute
)

// Finisher makes the files of a recording of its parts.
type Finisher struct {
	Store  Store
	FFmpeg FFmpeg
}

// H264Key returns the key of the finished Annex-B stream in the folder of a recording.
func H264Key(folder string) string { return folder + "/video.h264" }

// MP4Key returns the key of the finished MP4 in the folder of a recording.
func MP4Key(folder string) string { return folder + "/video.mp4" }

// Finish stores H264Key and MP4Key, then deletes the parts. parts are all parts that the log has, in
// order. temp is an existing folder on disk for the MP4, which takes the size of the recording until
// Finish returns. Finish may be repeated with the same arguments, also after it succeeded. When ffmpeg refuses
// the pictures, its error is returned; the Annex-B stream and the parts exist then.
func (f Finisher) Finish(ctx context.Context, folder string, parts []stream.Part, temp string) error {
	if len(parts) == 0 {
		return errors.New("record: a recording without parts cannot be finished")
	}
	finished, err := f.exists(ctx, MP4Key(folder))
	if err != nil {
		return err
	}
	if !finished {
		if err := f.join(ctx, folder, parts); err != nil {
			return err
		}
		if err := f.remux(ctx, folder, parts, temp); err != nil {
			return err
		}
	}
	return f.clear(ctx, folder, parts)
}

func (f Finisher) exists(ctx context.Context, key string) (bool, error) {
	r, err := f.Store.Reader(ctx, key)
	switch {
	case fault.Has(err, fault.ResourceNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("record: %w", err)
	}
	return true, r.Close()
}

// join stores the Annex-B stream.
func (f Finisher) join(ctx context.Context, folder string, parts []stream.Part) error {
	r := Open(ctx, f.Store, parts)
	defer func() { _ = r.Close() }()
	if err := f.Store.Put(ctx, H264Key(folder), contentH264, r, total(parts).SizeBytes); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// remux makes the MP4 on disk, because its index comes first and is known last, and stores it.
func (f Finisher) remux(ctx context.Context, folder string, parts []stream.Part, temp string) error {
	path := filepath.Join(temp, "video.mp4")
	defer func() { _ = os.Remove(path) }()
	if err := f.copyPictures(ctx, parts, path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := f.Store.Put(ctx, MP4Key(folder), contentMP4, file, info.Size()); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// copyPictures lets ffmpeg write the MP4.
func (f Finisher) copyPictures(ctx context.Context, parts []stream.Part, path string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sum := total(parts)
	// Start codes of 3 bytes become lengths of 4 bytes, and the index of an MP4 takes at most 40
	// bytes for a picture.
	limit := sum.SizeBytes*5/4 + 64*sum.Frames + 1<<20
	cpu := cpuTime + cpuTimePerGiB*time.Duration(sum.SizeBytes>>30)
	pipe, err := f.FFmpeg.WriteFile(ctx, input, output, path, limit, cpu)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	err = writeIVF(ctx, f.Store, parts, pipe)
	ended := errors.Is(err, syscall.EPIPE) // by itself: its own error says why
	if err != nil && !ended {
		cancel() // it must not complete a part of the file
	}
	exit := pipe.Close()
	switch {
	case err != nil && !ended:
		return err
	case exit != nil:
		return fmt.Errorf("record: mp4: %w", exit)
	}
	return err
}

// clear deletes the parts, the last one first. Parts that were stored but not recorded follow the others
// without a gap, and perhaps the index of one more.
func (f Finisher) clear(ctx context.Context, folder string, parts []stream.Part) error {
	last := parts[len(parts)-1].Number
	for {
		stored, err := f.exists(ctx, partKey(folder, last+1))
		if err != nil {
			return err
		}
		if !stored {
			break
		}
		last++
	}
	for number := last + 1; number > 0; number-- {
		key := partKey(folder, number)
		if err := errors.Join(f.Store.Delete(ctx, key), f.Store.Delete(ctx, indexKey(key))); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	return nil
}

func total(parts []stream.Part) stream.Part {
	var sum stream.Part
	for _, p := range parts {
		sum.SizeBytes += p.SizeBytes
		sum.Frames += p.Frames
	}
	return sum
}
