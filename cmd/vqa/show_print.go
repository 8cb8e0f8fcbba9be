package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"vqa/cmd/vqa/internal/terminal"
)

// stampForm is the form of a time in UTC, to the millisecond.
const stampForm = "2006-01-02 15:04:05.000"

func stamp(t time.Time) string { return t.UTC().Format(stampForm) }

// printShown prints each state below the name of its stream.
func printShown(s terminal.Screen, all shown) {
	for i, one := range all.Streams {
		if i > 0 {
			fmt.Fprintln(s)
		}
		fmt.Fprintf(s, "%s  version %d", s.Paint(terminal.Bold, one.Stream), one.Version)
		if one.Version < one.Latest {
			fmt.Fprint(s, s.Paint(terminal.BoldYellow, fmt.Sprintf(" of %d", one.Latest)))
		}
		fmt.Fprintf(s, "  %s UTC\n", stamp(*one.RecordedAt))
		fmt.Fprintln(s, s.Paint(terminal.Dim, fmt.Sprintf("position %d  chain %s", one.Position, one.Chain)))
		printDocument(s, one.State.State)
		if len(one.Events) == 0 {
			continue
		}
		fmt.Fprintln(s)
		if first := one.Events[0].Version; first > 1 {
			fmt.Fprintln(s, s.Paint(terminal.Dim, fmt.Sprintf("… %d earlier events", first-1)))
		}
		for _, e := range one.Events {
			fmt.Fprintln(s, eventLine(s, e))
		}
	}
}

// jsonField matches a line of indented JSON: the name and the value of a field.
var jsonField = regexp.MustCompile(`^(\s*)("(?:[^"\\]|\\.)*")(: )(.*?)(,?)$`)

// printDocument prints a value as JSON, with dimmed field names.
func printDocument(s terminal.Screen, value any) {
	var text bytes.Buffer
	if err := terminal.PrintJSON(&text, value); err != nil {
		fmt.Fprintln(&text, err)
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := jsonField.FindStringSubmatch(line); m != nil && s.Color {
			line = m[1] + s.Paint(terminal.Dim, m[2]+m[3]) + paintValue(s, m[4]) + m[5]
		}
		fmt.Fprintln(s, line)
	}
}

func paintValue(s terminal.Screen, value string) string {
	switch {
	case strings.HasPrefix(value, `"`):
		return s.Paint(terminal.Green, value)
	case value == "{" || value == "[":
		return value
	}
	return s.Paint(terminal.Bold, value)
}

// printDiff prints a line for each field that changed.
func printDiff(s terminal.Screen, d shownDiff) {
	fmt.Fprintf(s, "%s  version %d to %d\n", s.Paint(terminal.Bold, d.Stream), d.From, d.To)
	if len(d.Changes) == 0 {
		fmt.Fprintln(s, "nothing changed")
	}
	for _, c := range d.Changes {
		switch {
		case c.Before == nil:
			fmt.Fprintln(s, s.Paint(terminal.Green, fmt.Sprintf("+ %s: %s", terminal.Printable(c.Path), c.After)))
		case c.After == nil:
			fmt.Fprintln(s, s.Paint(terminal.BoldRed, fmt.Sprintf("- %s: %s", terminal.Printable(c.Path), c.Before)))
		default:
			fmt.Fprintf(s, "%s %s: %s → %s\n", s.Paint(terminal.BoldYellow, "~"), terminal.Printable(c.Path), c.Before, c.After)
		}
	}
}

// summaryFields are the fields of a payload that its summary shows, in this order.
var summaryFields = []string{
	"name", "mode", "tier", "source", "filename", "stage", "percent", "attempt", "kind", "seconds", "held_seconds",
	"balance_after", "source_id", "reason", "object_key", "number", "key_id",
}

// summary formats the most important fields of a payload as one line.
func summary(data json.RawMessage) string {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&fields) != nil {
		return ""
	}
	var parts []string
	for _, name := range summaryFields {
		switch v := fields[name].(type) {
		case string:
			if v != "" {
				parts = append(parts, name+" "+v)
			}
		case json.Number:
			parts = append(parts, name+" "+v.String())
		}
	}
	if failure, ok := fields["error"].(map[string]any); ok {
		parts = append(parts, fmt.Sprint("error ", failure["code"]))
	}
	if result, ok := fields["result"].(map[string]any); ok && result["answer"] != nil {
		parts = append(parts, fmt.Sprint("answer ", result["answer"]))
	}
	for _, pending := range []string{"drawing", "narrating"} {
		if fields[pending] == true {
			parts = append(parts, pending)
		}
	}
	if artifacts, ok := fields["artifacts"].(map[string]any); ok && fields["drawing"] == nil {
		parts = append(parts, fmt.Sprint(artifacts["video_key"]))
	}
	if entries, ok := fields["entries"].([]any); ok {
		parts = append(parts, counted(int64(len(entries)), "sentence"))
	}
	if fields["stream_id"] != nil {
		parts = append(parts, streamSummary(fields)...)
	}
	return terminal.Printable(strings.Join(parts, ", "))
}

// streamSummary formats the fields of the events of live streams: how the client came, how far the clock is, the bill, and
// why the stream or its recording failed.
func streamSummary(fields map[string]any) (parts []string) {
	for _, name := range []string{"via", "codec", "path", "clock_millis", "result_frames", "recording", "detail"} {
		switch v := fields[name].(type) {
		case string:
			if v != "" {
				parts = append(parts, name+" "+v)
			}
		case json.Number:
			parts = append(parts, name+" "+v.String())
		}
	}
	for _, nested := range [][2]string{
		{"usage", "billed_seconds"}, {"diagnostic", "hint"}, {"failure", "code"}, {"failure", "message"}, {"part", "number"}, {"part", "duration_millis"},
	} {
		if inner, ok := fields[nested[0]].(map[string]any); ok && inner[nested[1]] != nil {
			parts = append(parts, fmt.Sprint(nested[1], " ", inner[nested[1]]))
		}
	}
	return parts
}
