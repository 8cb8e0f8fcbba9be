package oip

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vqa/gpu"
)

// maxConcurrency bounds the concurrency that a server may report.
const maxConcurrency = 1024

// maxName bounds the names of the serving program, which goes into every receipt, and of the
// license, in bytes.
const maxName = 100

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

type metadata struct {
	Name       string         `json:"name"`
	Versions   []string       `json:"versions"`
	Inputs     []named        `json:"inputs"`
	Outputs    []named        `json:"outputs"`
	Parameters map[string]any `json:"parameters"`
}

// rotations is the input that requests turned views.
const rotations = "WANT_ROTATIONS"

// named is an input or output.
type named struct {
	Name string `json:"name"`
}

func decodeMetadata(body []byte) (metadata, error) {
	var m metadata
	err := json.Unmarshal(body, &m)
	return m, err
}

// decodeConfig reads the parameters of a Triton model configuration,
// {"parameters": {"key": {"string_value": "text"}}}; nil when there are none.
func decodeConfig(body []byte) map[string]any {
	var config struct {
		Parameters map[string]struct {
			Value string `json:"string_value"`
		} `json:"parameters"`
	}
	if json.Unmarshal(body, &config) != nil || len(config.Parameters) == 0 {
		return nil
	}
	parameters := make(map[string]any, len(config.Parameters))
	for name, parameter := range config.Parameters {
		parameters[name] = parameter.Value
	}
	return parameters
}

func (m metadata) info(model string) gpu.Info {
	info := gpu.Info{Name: m.Name, Concurrency: 1}
	if info.Name == "" {
		info.Name = model
	}
	if n := len(m.Versions); n > 0 {
		info.Version = m.Versions[n-1]
	}
	info.Weights = m.text("model")
	if info.Weights == "" {
		info.Weights = info.Name
	}
	if digest := m.text("digest"); sha256Hex.MatchString(digest) {
		info.Digest = digest
	}
	if worker := m.text("worker"); len(worker) <= maxName {
		info.Worker = worker
	}
	if license := m.text("license"); len(license) <= maxName {
		info.License = license
	}
	info.Vocabulary = list(m.text("vocabulary"))
	info.Colors = list(m.text("colors"))
	info.Shades = slices.Contains(m.Outputs, named{"SHADES"})
	info.PPM = slices.Contains(list(m.text("formats")), "ppm")
	info.Rotations = slices.Contains(m.Inputs, named{rotations})
	if n, err := strconv.Atoi(m.text("max_concurrency")); err == nil && n >= 1 {
		info.Concurrency = min(n, maxConcurrency)
	}
	return info
}

// text returns a parameter of the metadata as text, "" when it is missing.
func (m metadata) text(name string) string {
	switch value := m.Parameters[name].(type) {
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return ""
}

func list(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
