// Command fetch installs a current static build of ffmpeg for users who cannot install
// packages. Setup runs it with `go run`, before anything else is built:
//
//	fetch FILE
//
// The build comes from the wheel of imageio-ffmpeg on PyPI. A wheel is a zip file; only the
// ffmpeg in it is run. The version and the SHA-256 of the wheel are pinned in wheel.go, for
// x86-64 and arm64.
//
// pip downloads the wheel if it is installed, because it knows the mirror, the proxy and the
// credentials of this machine. Without pip, or when pip fails, the wheel is read from the index
// in PIP_INDEX_URL or from pypi.org.
//
// It imports only the standard library, so that it compiles in seconds.
//
// Guarantees: FILE appears complete or not at all, after its checksum was verified and the
// program ran once on this machine.
package main
