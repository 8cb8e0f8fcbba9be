// Package ffmpeg runs ffmpeg, the program that reads untrusted files. No other package starts
// it, so probing, sampling, artifacts and demo videos use the same demuxer, protocols and
// limits.
//
// A Probe gets 1.5 GiB of address space, and other jobs 4 GiB.
//
// It may import its package confine, the standard library, golang.org/x/sys, and the libraries
// that set up Landlock and seccomp.
//
// # Input
//
// Every file is opened with the MP4/QuickTime demuxer, and with the one protocol that its
// source needs. ffmpeg therefore cannot take a file for a playlist or a raw stream because of
// its first bytes, and an MP4 file cannot make it open a second source. A camera (rtsp) is read
// with the RTSP demuxer, over one TCP connection.
//
// # Frames
//
// The frames that a file shows depend on these rules of ffmpeg. Sampling, drawing and probing follow
// the same ones:
//
//	track         the first enabled video track, by its id (probe.Inspect); never an attached picture
//	rotation      frames are upright: -autorotate is on, and releases disagree on how to say so
//	size changes  the filters begin again (-reinit_filter 1). -autoscale would stretch a later frame
//	              to the size of the first, so frames are placed on a canvas of a constant size
//	pixel aspect  that of the container, for the whole file; 0 counts as 1
//	frame rate    each caller sets -fps_mode: the default depends on the muxer
//	range, matrix each caller converts them: the defaults depend on the size and the format
//	edit lists    applied, as by players
//
// # Colors
//
// A detector takes the samples of HLG or PQ video for gray and brown. Source.Light says what they
// mean, and Light.Filters converts them to BT.709: decode the transfer, bend highlights, change the
// primaries, encode for a screen. Dolby Vision plays its base layer.
//
// The conversion uses lutrgb and colorchannelmixer, which each build has; New refuses one that lacks
// them, and vqa doctor says so. zscale with tonemap needs libzimg, libplacebo needs Vulkan, and scale
// converts primaries from release 8 on. A table for lut3d would be one more file to confine. On a
// red sign in HLG the mean error is 0.9 of 255 (zscale: 0.8), the same in 5.1 and 9.0. 2,520 frames
// of 512x384 took 6.2 s of CPU with the conversion and 6.0 s without (zscale: 9.2 s).
//
// # Confinement
//
// Each process runs under these measures. "always" means on every Linux kernel. New tests the
// other measures, and Measures reports them.
//
//	measure                                        where
//	environment LC_ALL=C only                      always
//	descriptors 0, 1, 2 and Job.Side only          always
//	address space, CPU time, file size, number of
//	open files, no core dump                       always
//	no_new_privs; as root no capabilities but
//	reading files                                  always
//	own process group, nice 2                      always
//	SIGKILL when the service dies                  always
//	oom_score_adj 500, of a probe 1000             where /proc can be written
//	no new processes, about 120 system calls only  kernel with seccomp
//	none that act on another process               kernel with seccomp
//	no sockets for a local file                    kernel with seccomp
//	reads the input and shared libraries, writes
//	the output, connects to the port of the URL    kernel with Landlock (ABI 4 for ports)
//	sees no other process; no network for a local
//	file                                           root, or user namespaces
//	user 61000, which may read files               root with its capabilities
//	128 threads                                    user namespaces, not as root
//
// RLIMIT_NPROC counts all processes of a user, including the service and its database. It is
// set only in a user namespace, which has its own count. Elsewhere seccomp forbids new
// processes, and the limit of the address space limits threads.
//
// # How a process starts
//
// The service starts its own executable with a reserved argv[0]. The init function of package
// confine detects it, sets the limits and executes ffmpeg in the same process, so ffmpeg never
// runs without them. Test binaries work the same way. Compared with the 72 ms of a plain
// "ffmpeg -version", a start takes 13 to 26 ms longer (vqa binary, ffmpeg 5.1.9, medians of 40
// starts on 2 busy cores). About 11 ms of that are init functions of other packages.
//
// The kernel sends the parent-death signal when the thread that started the child ends, which
// can happen while the service runs. The goroutine that starts a child therefore keeps its
// thread until the child has ended. This costs no extra thread, because waiting for a child
// blocks one anyway.
package ffmpeg
