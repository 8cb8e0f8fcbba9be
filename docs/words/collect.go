package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// passage is one comment or one text that a person reads.
type passage struct {
	file    string
	line    int // of the first line, counted from 1
	text    string
	comment bool
}

// collect reads the tracked files below dir and returns their passages in file order.
func collect(ctx context.Context, root, dir string) ([]passage, error) {
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-files", "-z", "--", dir)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	var all []passage
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		src, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, but not committed yet
		}
		if err != nil {
			return nil, err
		}
		if !leftOut(name, src) {
			all = append(all, passagesOf(name, src)...)
		}
	}
	return all, nil
}

// leftOut reports whether a program wrote the file. Two kinds of files are left out as
// well: docs/style.md quotes bad examples, and the tasks in handlers/language are read by a
// model, whose answers were measured with this wording.
func leftOut(name string, src []byte) bool {
	head := src[:min(len(src), 2048)]
	return name == "docs/style.md" || filepath.Dir(name) == "handlers/language" && filepath.Ext(name) == ".md" || bytes.Contains(head, []byte("Code generated")) ||
		bytes.Contains(head, []byte("generated from")) || strings.Contains(name, "/testdata/") ||
		strings.Contains(name, "/released/") || strings.Contains(name, "/generated/") ||
		strings.HasSuffix(name, "package-lock.json")
}

func passagesOf(name string, src []byte) []passage {
	switch filepath.Ext(name) {
	case ".go":
		return ofGo(name, src)
	case ".md":
		return ofMarkdown(name, src)
	case ".yaml", ".yml":
		if strings.Contains(name, "httpapi/api") {
			return ofDescriptions(name, src)
		}
		return ofLines(name, src, "#")
	case ".sql":
		return ofLines(name, src, "--")
	case ".js", ".mjs", ".ts":
		return ofLines(name, src, "//")
	case ".py", ".sh":
		return ofLines(name, src, "#")
	}
	if base := filepath.Base(name); base == "Makefile" || strings.HasPrefix(name, ".ci/") || base == "run" {
		return ofLines(name, src, "#")
	}
	return nil
}

// ofGo returns the comments of a Go file and, outside tests, the string literals that
// are sentences. Adjacent comment lines are one passage.
func ofGo(name string, src []byte) []passage {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var all []passage
	for _, group := range f.Comments {
		if text := strings.TrimSpace(group.Text()); text != "" {
			all = append(all, passage{name, files.Position(group.Pos()).Line, text, true})
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		return all
	}
	ast.Inspect(f, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if help := reflect.StructTag(text).Get("help"); help != "" {
			text = help
		}
		if err == nil && isSentence(text) {
			all = append(all, passage{name, files.Position(literal.Pos()).Line, text, false})
		}
		return true
	})
	return all
}

var (
	sqlText  = regexp.MustCompile(`(?i)^\s*(?:%s )?(select|insert|update|delete|with|create|alter|drop|copy|set|from|where|order by|and|on conflict|grant|lock|listen|notify|begin|truncate|values|returning|left join|join|limit)\b.*[(=,*;]|\$[0-9]|::`)
	nonWords = regexp.MustCompile(`[{}<>\\]|^\s*[./]`)

	bareWords    = regexp.MustCompile(`^[a-z' |-]+$`)
	functionWord = regexp.MustCompile(`(?i)\b(a|an|the|is|are|of|to|must|not|with|for|has|have|cannot|and)\b`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
)

// isSentence tells a text for people from SQL, markup, lists of words and identifiers.
func isSentence(text string) bool {
	words := strings.Fields(text)
	if len(words) < 4 || sqlText.MatchString(text) || nonWords.MatchString(text) {
		return false
	}
	// Bare lower-case words without a function word are a lexicon, not a sentence.
	return functionWord.MatchString(text) || !bareWords.MatchString(strings.Join(words, " "))
}

// ofLines returns the comments of a file whose comments start with mark. Adjacent lines
// are one passage.
func ofLines(name string, src []byte, mark string) []passage {
	var all []passage
	open := false
	for i, line := range strings.Split(string(src), "\n") {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), mark)
		text = strings.TrimSpace(text)
		switch {
		case !ok || text == "" || strings.HasPrefix(text, "!"):
			open = false
		case open:
			all[len(all)-1].text += "\n" + text
		default:
			all = append(all, passage{name, i + 1, text, true})
			open = true
		}
	}
	return all
}

var description = regexp.MustCompile(`^(\s*)(?:- )?(?:description|summary|title):\s*(.*)$`)

// ofDescriptions returns the summaries and descriptions of an OpenAPI file.
func ofDescriptions(name string, src []byte) []passage {
	lines := strings.Split(string(src), "\n")
	var all []passage
	for i := 0; i < len(lines); i++ {
		m := description.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		p := passage{name, i + 1, strings.Trim(m[2], `'"|>- `), false}
		for i+1 < len(lines) && (indent(lines[i+1]) > len(m[1]) && !strings.Contains(m[2], "'")) && strings.ContainsAny(m[2]+" ", "|> ") {
			if m[2] != "" && !strings.ContainsAny(m[2][:1], "|>") && strings.Contains(lines[i+1], ": ") {
				break
			}
			i++
			p.text += "\n" + strings.TrimSpace(lines[i])
		}
		if p.text = strings.TrimSpace(p.text); isSentence(p.text) {
			all = append(all, p)
		}
	}
	return all
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// ofMarkdown returns the paragraphs, list items and table rows outside of listings.
func ofMarkdown(name string, src []byte) []passage {
	var all []passage
	listing, open := false, false
	for i, line := range strings.Split(string(src), "\n") {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") {
			listing, open = !listing, false
			continue
		}
		item := strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "* ") || strings.HasPrefix(text, "|")
		switch {
		case listing || text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "<") || isData(text):
			open = false
		case open && !item:
			all[len(all)-1].text += "\n" + text
		default:
			all = append(all, passage{name, i + 1, text, false})
			open = true
		}
	}
	return all
}

// isData reports whether a line is a table row of names and figures.
func isData(line string) bool {
	return strings.HasPrefix(line, "|") && len(letters.FindAllString(codeSpan.ReplaceAllString(line, ""), -1)) < 6
}

var letters = regexp.MustCompile(`[A-Za-z]{2,}`)
