package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The pinned release. To pin another one, run `pip download imageio-ffmpeg==VERSION --no-deps
// --only-binary :all: --platform manylinux_2_28_x86_64` and sha256sum.
const (
	project       = "imageio-ffmpeg"
	wheelVersion  = "0.8.1"
	ffmpegVersion = "9.0.2"
)

const (
	wheelLimit   = 256 << 20 // bytes; the wheels have 61 and 68 MB
	programLimit = 1 << 30   // bytes; the programs have 131 and 173 MB
)

// wheel is the file of one architecture.
type wheel struct {
	platform string // tag in the file's name
	sha256   string
}

// wheels are the wheels by GOARCH, for Linux with glibc 2.28 or newer.
var wheels = map[string]wheel{
	"amd64": {"manylinux_2_28_x86_64", "050d6850601c3b3890bd2b28306f3b842b3daea390a561101174375a1c460bda"},
	"arm64": {"manylinux_2_28_aarch64", "fad3176f859b25869e60a8ed79957d4e3ed74a97a95e5f0cdcb91455f6c6d00e"},
}

// filename is the name of the wheel at every index.
func (w wheel) filename() string {
	return fmt.Sprintf("%s-%s-py3-none-%s.whl", strings.ReplaceAll(project, "-", "_"), wheelVersion, w.platform)
}

// verify compares the checksum of a file with the pinned one.
func (w wheel) verify(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != w.sha256 {
		return fmt.Errorf("the SHA-256 of %s is %s, expected %s", w.filename(), got, w.sha256)
	}
	return nil
}

// unpack writes the program in a wheel to a new file.
func unpack(wheelFile, to string) error {
	z, err := zip.OpenReader(wheelFile)
	if err != nil {
		return fmt.Errorf("open %s: %w", filepath.Base(wheelFile), err)
	}
	defer func() { _ = z.Close() }() // read only
	for _, member := range z.File {
		if ok, _ := path.Match("imageio_ffmpeg/binaries/ffmpeg-linux-*", member.Name); ok {
			return unpackMember(member, to)
		}
	}
	return fmt.Errorf("%s has no ffmpeg for Linux", filepath.Base(wheelFile))
}

func unpackMember(member *zip.File, to string) error {
	if member.UncompressedSize64 > programLimit {
		return fmt.Errorf("%s is larger than %d bytes", member.Name, programLimit)
	}
	in, err := member.Open()
	if err != nil {
		return fmt.Errorf("open %s: %w", member.Name, err)
	}
	defer func() { _ = in.Close() }()                                     // read only
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, io.LimitReader(in, programLimit)); err != nil {
		return errors.Join(fmt.Errorf("unpack %s: %w", member.Name, err), out.Close())
	}
	return out.Close()
}
