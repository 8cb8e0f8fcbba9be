// Command fetch installs a current static build of ffmpeg for users who cannot install
// packages. Setup runs it with `go run`, before anything else is built:
//
//	fetch FILE
//
// The build is that of the wheel of imageio-ffmpeg on PyPI. A wheel is a zip file; nothing in
// it is run but ffmpeg itself. The version and the SHA-256 of the wheel are pinned in
// wheel.go, for x86-64 and arm64.
//
// pip downloads the wheel where there is one: it knows the mirror, the proxy and the
// credentials of this machine. Without pip, or when it fails, the wheel is read from the index
// of PIP_INDEX_URL or from pypi.org.
//
// It may import the standard library only, so that it compiles in seconds.
//
// Guarantees: FILE appears whole or not at all, only after the checksum agreed and after the
// program ran once on this machine.
package main
