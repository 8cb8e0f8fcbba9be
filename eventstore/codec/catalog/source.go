package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// module is the path that the packages of this repository begin with.
const module = "vqa/"

// source is what the Go files say about types. It reads each package once.
type source struct {
	root     string
	packages map[string]map[string]typeDoc
}

// typeDoc is what stands in the source beside a type.
type typeDoc struct {
	// order is the place of the declaration in its package.
	order int
	// comment is the whole comment, with the type's name at its beginning.
	comment string
	// fields are the comments of the fields of a struct, by Go name.
	fields map[string]string
	// values are the constants of a string type, in the order of the source.
	values []string
}

// of returns what stands beside a type; nothing for types from elsewhere.
func (s *source) of(t reflect.Type) (typeDoc, error) {
	dir, ours := strings.CutPrefix(t.PkgPath(), module)
	if !ours || t.Name() == "" {
		return typeDoc{}, nil
	}
	if s.packages[dir] == nil {
		types, err := readPackage(filepath.Join(s.root, filepath.FromSlash(dir)), t.PkgPath())
		if err != nil {
			return typeDoc{}, err
		}
		if s.packages == nil {
			s.packages = map[string]map[string]typeDoc{}
		}
		s.packages[dir] = types
	}
	d, ok := s.packages[dir][t.Name()]
	if !ok {
		return typeDoc{}, fmt.Errorf("the source of %s does not declare it", t)
	}
	return d, nil
}

func readPackage(dir, importPath string) (map[string]typeDoc, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, importPath, doc.AllDecls)
	if err != nil {
		return nil, err
	}
	types := map[string]typeDoc{}
	for _, t := range p.Types {
		d := typeDoc{order: int(t.Decl.Pos()), comment: sentence(t.Doc), fields: map[string]string{}}
		for _, spec := range t.Decl.Specs {
			if st, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
				d.addFields(st)
			}
		}
		for _, consts := range t.Consts {
			d.addValues(consts.Decl)
		}
		types[t.Name] = d
	}
	return types, nil
}

func (d *typeDoc) addFields(st *ast.StructType) {
	for _, f := range st.Fields.List {
		comment := f.Doc.Text()
		if comment == "" {
			comment = f.Comment.Text()
		}
		for _, name := range f.Names {
			d.fields[name.Name] = sentence(comment)
		}
	}
}

func (d *typeDoc) addValues(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		for _, value := range spec.(*ast.ValueSpec).Values {
			if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					d.values = append(d.values, text)
				}
			}
		}
	}
}

// sentence puts a comment on one line.
func sentence(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// meaning is what the source says about the place of a payload.
type meaning struct {
	// order is its place among those of the payload, in the order of the source, from 1.
	order   int
	comment string
	goType  string
	// values are those of an enumeration.
	values []string
}

// meanings returns what the comments say about every place in the payload of a type, by
// the paths of codec.Fields.
func (s *source) meanings(t reflect.Type) (map[string]meaning, error) {
	found := map[string]meaning{}
	return found, s.collect(found, "", "", t)
}

// collect adds what is known of the place at path, of type t, and of all places in it.
func (s *source) collect(found map[string]meaning, path, comment string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	d, err := s.of(t)
	if err != nil {
		return err
	}
	if path != "" {
		if comment == "" {
			comment = meant(d.comment, t.Name(), storedNames(t))
		}
		found[path] = meaning{order: len(found) + 1, comment: comment, goType: t.String(), values: d.values}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return s.collect(found, path+"[]", "", t.Elem())
	case reflect.Map:
		return s.collect(found, path+"{}", "", t.Elem())
	case reflect.Struct:
		return s.collectFields(found, path, d, t)
	default:
		return nil
	}
}

func (s *source) collectFields(found map[string]meaning, path string, d typeDoc, t reflect.Type) error {
	stored := storedNames(t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, ok := stored[field.Name]
		if !ok {
			continue
		}
		place := strings.TrimPrefix(path+"."+name, ".")
		if err := s.collect(found, place, meant(d.fields[field.Name], field.Name, stored), field.Type); err != nil {
			return err
		}
	}
	return nil
}

// storedNames are the stored names of the fields of a type by their Go names; none when
// it is not a struct.
func storedNames(t reflect.Type) map[string]string {
	stored := map[string]string{}
	if t.Kind() != reflect.Struct {
		return stored
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			stored[t.Field(i).Name] = name
		}
	}
	return stored
}

// meant is a Go comment for readers who see stored names: "Seconds is the length" of
// what is called Seconds becomes "The length", and other fields have their stored names.
func meant(comment, called string, stored map[string]string) string {
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(comment, called+verb); ok {
			first, size := utf8.DecodeRuneInString(rest)
			comment = string(unicode.ToUpper(first)) + rest[size:]
		}
	}
	if len(stored) == 0 {
		return comment
	}
	names := regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(stored)), "|") + `)\b`)
	return names.ReplaceAllStringFunc(comment, func(name string) string { return "`" + stored[name] + "`" })
}
