package settings

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// setting is one field of the configuration.
type setting struct {
	group, name, preset, format, help string
}

// formats describe the values of each Go type. The tag "format" of a field replaces this text.
var formats = map[string]string{
	"string":             "text",
	"[]string":           "list, comma-separated",
	"bool":               "true or false",
	"int":                "whole number",
	"int64":              "whole number",
	"time.Duration":      "duration, for example 30s, 5m or 4h",
	"terminal.ByteCount": "bytes, or a size such as 500MiB or 100GiB",
}

// read returns the settings of the struct config in Go source, in its order.
func read(source []byte) ([]setting, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var fields *ast.FieldList
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "config" {
			if s, ok := spec.Type.(*ast.StructType); ok {
				fields = s.Fields
			}
		}
		return fields == nil
	})
	if fields == nil {
		return nil, errors.New("the source has no struct config")
	}
	var all []setting
	group := ""
	for _, f := range fields.List {
		if f.Tag == nil {
			return nil, fmt.Errorf("the field %s has no tags", f.Names[0].Name)
		}
		raw, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		tag := reflect.StructTag(raw)
		if g := tag.Get("group"); g != "" {
			group = g
		}
		s := setting{group: group, name: tag.Get("env"), preset: tag.Get("envDefault"), format: tag.Get("format"), help: tag.Get("help")}
		if s.format == "" {
			s.format = formats[types.ExprString(f.Type)]
		}
		if s.group == "" || s.name == "" || s.format == "" || s.help == "" {
			return nil, fmt.Errorf("the field %s lacks a group, a variable, a format or help", f.Names[0].Name)
		}
		all = append(all, s)
	}
	return all, nil
}

const intro = `# Configuration

Every setting of the server is an environment variable. None is required: without any, the server
listens on 127.0.0.1:8080 and starts its own database and its own inference worker.
` + "`vqa config`" + ` prints each setting, its value and where the value came from. ` + "`vqa doctor`" + ` checks
that the settings work. Every start warns about a variable that begins with ` + "`VQA_`" + ` and is not a
setting.

This file is generated from [cmd/vqa/config.go](../cmd/vqa/config.go): change the tags there, then
run ` + "`go generate ./cmd/vqa`" + `.
`

const outro = `
## Command line

These variables apply to the subcommands. ` + "`TMPDIR`" + ` also applies to the server.

| variable | format | meaning |
|---|---|---|
| ` + "`VQA_API_KEY`" + ` | API key | Key of ` + "`vqa ask`" + ` and ` + "`vqa eval`" + `. When empty, they use the key in the data folder, and create it if there is none. |
| ` + "`NO_COLOR`" + ` | any text | Disables colors in the output. |
| ` + "`COLUMNS`" + ` | whole number | Width of the output where it is not a terminal; 80 when empty. |
| ` + "`TMPDIR`" + ` | path | Folder for temporary files. |
`

// Document returns docs/configuration.md for the source of config.go.
func Document(source []byte) ([]byte, error) {
	all, err := read(source)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(intro)
	group := ""
	for _, s := range all {
		if s.group != group {
			group = s.group
			fmt.Fprintf(&out, "\n## %s\n\n| variable | default | format | meaning |\n|---|---|---|---|\n", group)
		}
		preset := ""
		if s.preset != "" {
			preset = "`" + s.preset + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", s.name, preset, cell(s.format), cell(s.help))
	}
	out.WriteString(outro)
	return out.Bytes(), nil
}

// names are settings, error codes, paths of the API and commands: literals in the document.
var names = regexp.MustCompile(`\bVQA_[A-Z_]+|\b[a-z]+(_[a-z]+)+\b|/(docs|v1/[a-z-]+)\b|\bpk_|\bmake setup\b`)

// cell marks names and escapes text for a cell of a table.
func cell(text string) string {
	text = strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
	return names.ReplaceAllString(text, "`$0`")
}
