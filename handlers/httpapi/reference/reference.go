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

// folder is the path of this package in the repository, and dist the path of the installed
// files in it.
var (
	folder = filepath.Join("handlers", "httpapi", "reference")
	dist   = filepath.Join("node_modules", "swagger-ui-dist")
)

// errMissing means that Swagger UI is not installed.
var errMissing = errors.New("the renderer of the API reference is not installed: run `make setup`")

// Open returns the files of the renderer in dir, a copy of the folder of this package. If
// dir is empty, it searches for this folder in the working directory and its parents, and
// then beside the program and in its parent folder. It fails if there is none.
func Open(dir string) (fs.FS, error) {
	candidates := []string{dir}
	if dir == "" {
		candidates = searchPath()
	}
	for _, candidate := range candidates {
		files := os.DirFS(filepath.Join(candidate, dist))
		if complete(files) {
			return files, nil
		}
	}
	if dir != "" {
		return nil, fmt.Errorf("%s: %w", dir, errMissing)
	}
	return nil, errMissing
}

func complete(files fs.FS) bool {
	for _, name := range []string{Script, Style} {
		if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// searchPath returns the possible paths of folder.
func searchPath() []string {
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
