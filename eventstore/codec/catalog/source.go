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

// source reads the comments of types from Go files. It reads each package once.
type source struct {
	root     string
	packages map[string]map[string]typeDoc
}

// typeDoc is the documentation of a type in the source.
type typeDoc struct {
	// order is the place of the declaration in its package.
	order int
	// comment is the whole comment. It begins with the name of the type.
	comment string
	// fields has the comments of the fields of a struct, by Go name.
	fields map[string]string
	// values has the constants of a string type, in the order of the source.
	values []string
}

// of returns the documentation of a type. It is empty for types outside this repository.
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
		return typeDoc{}, fmt.Errorf("the source of its package does not declare the type %s", t)
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

// sentence joins the lines of a comment.
func sentence(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// meaning is the documentation of one place in a payload.
type meaning struct {
	// order counts the places of the payload in the order of the source, from 1.
	order   int
	comment string
	goType  string
	// values has the values of an enumeration.
	values []string
}

// meanings returns the documentation of every place in the payload of a type, by the paths of
// codec.Fields.
func (s *source) meanings(t reflect.Type) (map[string]meaning, error) {
	found := map[string]meaning{}
	return found, s.collect(found, "", "", t)
}

// collect adds the documentation of the place at path, of type t, and of all places in it.
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

// storedNames returns the stored names of the fields of a struct by their Go names. It is empty for
// other types.
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

// capital returns text with a capital first letter.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// meant rewrites a Go comment for readers of stored names: "Seconds is the length" becomes "The
// length", and the Go names of other fields become their stored names.
func meant(comment, called string, stored map[string]string) string {
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(comment, called+verb); ok {
			comment = capital(rest)
		}
	}
	if len(stored) == 0 {
		return comment
	}
	names := regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(stored)), "|") + `)\b`)
	return names.ReplaceAllStringFunc(comment, func(name string) string { return "`" + stored[name] + "`" })
}
