package reference

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of the renderer.
const (
	Script = "swagger-ui-bundle.js"
	Style  = "swagger-ui.css"
)

// folder is where this package lies in the repository, and what npm put into it.
var (
	folder = filepath.Join("handlers", "httpapi", "reference")
	dist   = filepath.Join("node_modules", "swagger-ui-dist")
)

// ErrMissing says that the renderer is not installed.
var ErrMissing = errors.New("the reference's renderer is not installed: run `make setup`")

// Open returns the files of the renderer: those of dir, a folder like that of this
// package, or, when dir is empty, of the first such folder under the working directory,
// one of its parents, or beside or above the program. Error: ErrMissing.
func Open(dir string) (fs.FS, error) {
	candidates := []string{dir}
	if dir == "" {
		candidates = near()
	}
	for _, candidate := range candidates {
		files := os.DirFS(filepath.Join(candidate, dist))
		if complete(files) {
			return files, nil
		}
	}
	if dir != "" {
		return nil, fmt.Errorf("%s: %w", dir, ErrMissing)
	}
	return nil, ErrMissing
}

func complete(files fs.FS) bool {
	for _, name := range []string{Script, Style} {
		if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// near are the places where the folder may lie.
func near() []string {
	var dirs []string
	if wd, err := os.Getwd(); err == nil {
		for dir := wd; ; dir = filepath.Dir(dir) {
			dirs = append(dirs, filepath.Join(dir, folder))
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if program, err := os.Executable(); err == nil {
		beside := filepath.Dir(program)
		dirs = append(dirs, filepath.Join(beside, folder), filepath.Join(filepath.Dir(beside), folder))
	}
	return dirs
}
