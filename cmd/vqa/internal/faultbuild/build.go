package faultbuild

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edit inserts a line into a file of the standard library, after a text that occurs once.
type edit struct{ file, after, line string }

var edits = []edit{
	{"time/time.go", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "\tsec += *faultAhead\n"},
	{"internal/poll/fd_unix.go", "func (fd *FD) Write(p []byte) (int, error) {\n", refuse},
	{"internal/poll/fd_unix.go", "func (fd *FD) Pwrite(p []byte, off int64) (int, error) {\n", refuse},
}

const refuse = "\tif diskIsFull(fd.Sysfd) {\n\t\treturn 0, syscall.ENOSPC\n\t}\n"

// additions are new files of the standard library.
var additions = map[string]string{
	"time/fault_page.go": `package time

import (
	"syscall"
	"unsafe"
)

var faultAhead = new(int64)

func init() {
	if page := faultPage(); page != nil {
		faultAhead = (*int64)(unsafe.Pointer(&page[0]))
	}
}
` + mapPage,
	"internal/poll/fault_page.go": `package poll

import "syscall"

var faultFull = new(byte)

func init() {
	if page := faultPage(); page != nil {
		faultFull = &page[8]
	}
}

func diskIsFull(fd int) bool {
	if *faultFull == 0 || fd <= 2 {
		return false
	}
	var s syscall.Stat_t
	return syscall.Fstat(fd, &s) == nil && s.Mode&syscall.S_IFMT == syscall.S_IFREG
}
` + mapPage,
}

// mapPage maps the page of the process, or returns nil when it has none.
const mapPage = `
func faultPage() []byte {
	path, ok := syscall.Getenv("` + variable + `")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("` + variable + `: " + err.Error())
	}
	defer syscall.Close(fd)
	page, err := syscall.Mmap(fd, 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("` + variable + `: " + err.Error())
	}
	return page
}
`

// Build compiles the program into the folder dir and returns the path of the binary. The first build
// on a machine compiles the standard library, too. Later builds take seconds.
func Build(ctx context.Context, dir string) (binary string, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("finding the standard library: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	changed := map[string]string{} // name below src: content
	for _, e := range edits {
		text, ok := changed[e.file]
		if !ok {
			raw, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(e.file)))
			if err != nil {
				return "", err
			}
			text = string(raw)
		}
		if strings.Count(text, e.after) != 1 {
			return "", fmt.Errorf("%s does not contain %q once: adapt this package to the release of Go", e.file, e.after)
		}
		changed[e.file] = strings.Replace(text, e.after, e.after+e.line, 1)
	}
	for name, text := range additions {
		changed[name] = text
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range changed {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(src, filepath.FromSlash(name))] = path
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	listPath, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "vqa-with-faults")
	if err := os.WriteFile(listPath, list, 0o600); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-overlay", listPath, "-o", binary, "vqa/cmd/vqa")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program with faults: %w: %s", err, said)
	}
	return binary, nil
}
