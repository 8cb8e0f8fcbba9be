package embedded

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func nowhere(string) (string, error) { return "", exec.ErrNotFound }

// installation writes programs that print a release and do nothing else.
func installation(t *testing.T, dir string, major int) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %d.3'\n", major)
		require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755))
	}
	return dir
}

func TestFinderChoosesTheRelease(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, major := range []int{9, 15, 16, 110} {
		installation(t, filepath.Join(root, fmt.Sprint(major), "bin"), major)
	}
	inPath := installation(t, filepath.Join(root, "path"), 15)
	lookPath := func(program string) (string, error) {
		if program == "pg_ctl" {
			return filepath.Join(inPath, program), nil
		}
		return nowhere(program)
	}
	glob := filepath.Join(root, "*", "bin")
	tests := map[string]struct {
		finder finder
		major  int
		want   string // folder below root
		err    string
	}{
		"new cluster, newest system release": {finder{glob: glob, lookPath: nowhere}, 0, "110/bin", ""},
		"new cluster, PATH first":            {finder{glob: glob, lookPath: lookPath}, 0, "path", ""},
		"old cluster, its own release":       {finder{glob: glob, lookPath: lookPath}, 16, "16/bin", ""},
		"release not installed":              {finder{glob: glob, lookPath: nowhere}, 11, "", "install it (Debian: apt-get install postgresql-11)"},
		"explicit":                           {finder{explicit: inPath, glob: glob, lookPath: nowhere}, 0, "path", ""},
		"explicit of another release":        {finder{explicit: inPath, glob: glob, lookPath: nowhere}, 16, "", "holds Postgres 15"},
		"explicit without programs":          {finder{explicit: root, glob: glob, lookPath: lookPath}, 0, "", "in the configured folder"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.finder.log, tt.finder.cacheDir = slog.New(slog.DiscardHandler), t.TempDir()
			got, err := tt.finder.find(t.Context(), tt.major)
			if tt.err != "" {
				require.ErrorIs(t, err, ErrNoBinaries)
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, tt.want), got.dir)
		})
	}
}

func TestInstallRefusesWhatItDidNotExpect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there.jar" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("not the archive")) // the client notices
	}))
	t.Cleanup(server.Close)
	root := filepath.Join(t.TempDir(), "postgres")
	err := install(t.Context(), server.URL+"/there.jar", archives[17].sha256["amd64"], root)
	require.ErrorContains(t, err, "checksum")
	err = install(t.Context(), server.URL+"/missing.jar", "", root)
	require.ErrorContains(t, err, "404")
	require.NoDirExists(t, root, "an incomplete folder must not exist")
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries []tar.Header
		ok      bool
	}{
		"plain":               {[]tar.Header{{Name: "bin/postgres", Typeflag: tar.TypeReg, Mode: 0o755}}, true},
		"link inside":         {[]tar.Header{{Name: "lib/a", Typeflag: tar.TypeReg, Mode: 0o644}, {Name: "lib/b", Typeflag: tar.TypeSymlink, Linkname: "a"}}, true},
		"path upwards":        {[]tar.Header{{Name: "../evil", Typeflag: tar.TypeReg, Mode: 0o644}}, false},
		"through a link":      {[]tar.Header{{Name: "out", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "out/evil", Typeflag: tar.TypeReg, Mode: 0o644}}, false},
		"device":              {[]tar.Header{{Name: "null", Typeflag: tar.TypeChar}}, false},
		"the same file twice": {[]tar.Header{{Name: "a", Typeflag: tar.TypeReg, Mode: 0o644}, {Name: "a", Typeflag: tar.TypeReg, Mode: 0o644}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var archive bytes.Buffer
			w := tar.NewWriter(&archive)
			for i := range tt.entries {
				require.NoError(t, w.WriteHeader(&tt.entries[i]))
			}
			require.NoError(t, w.Close())
			parent := t.TempDir()
			dir := filepath.Join(parent, "in")
			require.NoError(t, os.Mkdir(dir, 0o755))
			err := unpackTar(tar.NewReader(&archive), dir)
			require.NoFileExists(t, filepath.Join(parent, "evil"))
			if !tt.ok {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			for _, e := range tt.entries {
				require.FileExists(t, filepath.Join(dir, e.Name))
			}
		})
	}
}

// TestMachineWithoutPostgres downloads the real archive and serves from it.
func TestMachineWithoutPostgres(t *testing.T) {
	t.Parallel()
	probe, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(probe, http.MethodHead, archiveHost+"/embedded-postgres-binaries-bom/maven-metadata.xml", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err = errors.Join(err, closeBody(resp)); err != nil {
		t.Skipf("Maven Central cannot be reached from here: %v", err)
	}
	dir := folder(t)
	f := finder{lookPath: nowhere, cacheDir: filepath.Join(filepath.Dir(dir), "cache"), log: slog.New(slog.DiscardHandler)}
	b, err := f.find(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, defaultMajor, b.major)
	s := start(t, Options{Dir: dir, BinDir: b.dir})
	require.Contains(t, mustQuery(t, s.URL("postgres"), "select version()"), fmt.Sprintf("PostgreSQL %d.", defaultMajor))
	closeServer(t, s)

	f.cacheDir += "/" // the same folder, so nothing is downloaded twice
	again, err := f.find(t.Context(), defaultMajor)
	require.NoError(t, err)
	require.Equal(t, b, again)
}

func closeBody(resp *http.Response) error {
	if resp == nil {
		return nil
	}
	return resp.Body.Close()
}

// TestABusyProgramIsStartedAgain holds a program open for writing when it is first started.
func TestABusyProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "postgres")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho 'postgres (PostgreSQL) 15.1'\n"), 0o700))
	open, err := os.OpenFile(program, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.ErrorIs(t, exec.CommandContext(t.Context(), program).Run(), syscall.ETXTBSY)
	time.AfterFunc(3*busyRetry, func() { _ = open.Close() })
	out, err := version(t.Context(), program)
	require.NoError(t, err)
	require.Contains(t, string(out), "15.1")
}
