package evaluate

import (
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/sampling"
	"vqa/handlers/survey"
)

// Seen holds everything that an engine reported about a clip.
type Seen struct {
	// Engine made the detections.
	Engine answer.Engine
	// DecodedS is the decoded length of the clip, in seconds.
	DecodedS float64
	// Evidence has a frame every sampling.FineStepS, all of them in Frames, for all classes of the
	// engine, with keypoints, colors and shades.
	Evidence evidence.Evidence
}

// SeenPath is the file in dir for a clip that an engine examines. The name of the weights is in it,
// so that a new model makes new files. side is the longer side of the frames in pixels; 0 is the
// usual one.
func SeenPath(dir, clip, weights string, side int) string {
	name := clip + "." + strings.ReplaceAll(weights, string(filepath.Separator), "-")
	if side > 0 {
		name = fmt.Sprintf("%s.side%d", name, side)
	}
	return filepath.Join(dir, name+".gob.gz")
}

// Save writes s to a file. It creates the file's folder.
func (s Seen) Save(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".seen-*")
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(file)
	if err := errors.Join(gob.NewEncoder(zip).Encode(s), zip.Close(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Rename(file.Name(), path)
}

// ReadSeen reads a file of Save.
func ReadSeen(path string) (s Seen, err error) {
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if err := gob.NewDecoder(zip).Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// For is the evidence that an analysis would have for a question: the frames that its sampling plan
// takes, and the classes that it asks for.
func (s Seen) For(q query.Query, cal answer.Calibration) (evidence.Evidence, error) {
	all := survey.Survey{Engine: s.Engine, Evidence: s.Evidence}
	all.Evidence.Frames, all.Evidence.IntervalS = nil, sampling.BaseStepS
	defer func() { _ = all.Close() }() // the returned evidence is in memory
	coarse := sampling.OnGrid(s.Evidence.Frames, sampling.BaseStepS)
	err := errors.Join(all.Add(survey.Scan{Frames: coarse, Pose: true}), all.Add(survey.Scan{Frames: offGrid(s.Evidence.Frames), Pose: true, Fine: true}))
	if err != nil {
		return evidence.Evidence{}, err
	}
	ev := sampling.For(q, cal.Vocabulary).Evidence(sampling.Survey{
		StepS: sampling.BaseStepS, DecodedS: s.DecodedS, Evidence: all.Evidence, For: all.For,
	}, cal)
	ev.Frames, ev.Fine = loaded(ev.Frames), loaded(ev.Fine)
	ev.DurationS = s.DecodedS
	return ev, all.Err()
}

func offGrid(frames []evidence.Frame) []evidence.Frame {
	var off []evidence.Frame
	for _, f := range frames {
		if len(sampling.OnGrid([]evidence.Frame{f}, sampling.BaseStepS)) == 0 {
			off = append(off, f)
		}
	}
	return off
}

func loaded(frames []evidence.Frame) []evidence.Frame {
	all := make([]evidence.Frame, len(frames))
	for i, f := range frames {
		all[i] = f.Load(true)
	}
	return all
}

// Ask answers the questions about clips that were examined before, with the rules of the service.
// calibration returns that for the questions about a clip.
func Ask(seen map[string]Seen, questions []Case, calibration func(clip string) answer.Calibration) ([]Outcome, error) {
	outcomes := make([]Outcome, len(questions))
	for i, q := range questions {
		s, ok := seen[q.File]
		if !ok {
			return nil, fmt.Errorf("the clip %s was not examined", q.File)
		}
		compiled, cal := english.Compile(q.Question), calibration(q.File)
		ev, err := s.For(compiled, cal)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", q.File, q.Question, err)
		}
		outcomes[i] = judge(q, reported(answer.Decide(compiled, ev, cal)))
	}
	return outcomes, nil
}

// reported is a result as the API reports it, with the parts that are judged.
func reported(r answer.Result) *client.Result {
	out := &client.Result{Answer: string(r.Answer), Confidence: r.Confidence, DetectedCount: r.DetectedCount}
	for _, c := range r.Clips {
		out.Clips = append(out.Clips, client.Clip{StartS: c.StartS, EndS: c.EndS, Confidence: c.Confidence})
	}
	if r.IndeterminateReason != nil {
		out.IndeterminateReason = new(string(*r.IndeterminateReason))
	}
	return out
}
