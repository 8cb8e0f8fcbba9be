package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// most is how many of 1,000 lines may match a suspect pattern.
const most = 2.0

func main() {
	dir := flag.String("dir", "", "folder to check; prints its suspect lines instead of a draw")
	seed := flag.Uint64("seed", 13, "seed of the draw")
	n := flag.Int("n", 40, "how many comments and how many texts to draw")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, ".", *dir, *seed, *n); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run prints the draw (or, with dir, the suspect lines of that folder) and the count. It
// fails when more than most of 1,000 lines are suspect.
func run(ctx context.Context, w io.Writer, root, dir string, seed uint64, n int) error {
	style, err := os.Open(filepath.Join(root, "docs", "style.md"))
	if err != nil {
		return err
	}
	defer func() { _ = style.Close() }()
	patterns, err := readPatterns(style)
	if err != nil {
		return err
	}
	all, err := collect(ctx, root, filepath.Join(".", dir))
	if err != nil {
		return err
	}
	if dir == "" {
		draw(w, "Comments", all, true, seed, n)
		draw(w, "Texts", all, false, seed, n)
	}
	return judge(w, all, patterns)
}

// readPatterns reads the fenced block of the style guide that is marked "suspect". Each
// line is a regular expression; a line that starts with # explains.
func readPatterns(r io.Reader) ([]*regexp.Regexp, error) {
	var patterns []*regexp.Regexp
	inside := false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside && strings.Contains(line, "suspect")
		case inside && line != "" && !strings.HasPrefix(line, "#"):
			p, err := regexp.Compile("(?i)" + line)
			if err != nil {
				return nil, fmt.Errorf("docs/style.md: %w", err)
			}
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 {
		return nil, errors.New("docs/style.md has no block of suspect patterns")
	}
	return patterns, lines.Err()
}

// draw prints n passages of one kind, chosen by the seed.
func draw(w io.Writer, title string, all []passage, comments bool, seed uint64, n int) {
	var from []passage
	for _, p := range all {
		if p.comment == comments && len(strings.Fields(p.text)) >= 4 {
			from = append(from, p)
		}
	}
	fmt.Fprintf(w, "%s (%d of %d, seed %d)\n\n", title, min(n, len(from)), len(from), seed)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(from)) //nolint:gosec // the draw must be repeatable
	for i, at := range order[:min(n, len(from))] {
		p := from[at]
		fmt.Fprintf(w, "%2d. %s:%d\n    %s\n", i+1, p.file, p.line, strings.ReplaceAll(p.text, "\n", "\n    "))
	}
	fmt.Fprintln(w)
}

// judge prints each suspect line and the count for 1,000 lines. It fails above most.
func judge(w io.Writer, all []passage, patterns []*regexp.Regexp) error {
	lines, suspect := 0, 0
	for _, p := range all {
		for i, line := range strings.Split(p.text, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			lines++
			if found := firstMatch(line, patterns); found != "" {
				suspect++
				fmt.Fprintf(w, "%s:%d: %q: %s\n", p.file, p.line+i, found, strings.TrimSpace(line))
			}
		}
	}
	if lines == 0 {
		return errors.New("there is no text to check")
	}
	share := float64(suspect) / float64(lines) * 1000
	fmt.Fprintf(w, "%d of %d lines are suspect: %.1f in 1,000 (at most %.0f)\n", suspect, lines, share, most)
	if share > most {
		return fmt.Errorf("%.1f in 1,000 lines are suspect, at most %.0f may be", share, most)
	}
	return nil
}

func firstMatch(line string, patterns []*regexp.Regexp) string {
	for _, p := range patterns {
		if found := p.FindString(line); found != "" {
			return found
		}
	}
	return ""
}
