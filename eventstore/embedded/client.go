package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// Client returns the path of a client program such as pg_dump, of the given release or else of a newer one.
// binDir is [Options].BinDir. Error: [ErrNoBinaries], because downloaded servers have no client programs.
func Client(ctx context.Context, program, binDir string, major int) (string, error) {
	f := finder{glob: systemGlob, lookPath: exec.LookPath, log: slog.New(slog.DiscardHandler)}
	places := f.candidates(ctx)
	if binDir != "" {
		places = slices.Insert(places, 0, binDir)
	}
	if path, err := exec.LookPath(program); err == nil {
		places = append(places, filepath.Dir(path))
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	newer := ""
	for _, dir := range places {
		path := filepath.Join(dir, program)
		out, _ := version(ctx, path) // a folder without the program
		m := versionPattern.FindSubmatch(out)
		if m == nil {
			continue
		}
		switch found, _ := strconv.Atoi(string(m[1])); { // the pattern has digits only
		case found == major:
			return path, nil
		case found > major && newer == "":
			newer = path
		}
	}
	if newer == "" {
		return "", fmt.Errorf("%w: %s of PostgreSQL %d or newer is missing; install it (Debian: apt-get install postgresql-client), or name its folder in VQA_POSTGRES_BIN", ErrNoBinaries, program, major)
	}
	return newer, nil
}
