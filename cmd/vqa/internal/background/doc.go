// Package background lowers the processor weight of child processes, so that ffmpeg and the
// inference worker cannot starve the API and its database. It changes nothing while processors are
// free. The ffmpeg of a probe or of a health check keeps its weight, because a request waits for it.
//
// Two ways, the first that works:
//
//	cgroup    a child of the cgroup of this process, with a tenth of the weight of one ordinary
//	          process. All background processes share it. It needs a writable cgroup with the cpu
//	          controller: root outside of a container, or a delegated one.
//	priority  10 more than the nice value of this process: about a tenth of its weight. Any user
//	          may raise it. Where the kernel groups processes by session (autogroup), a nice value
//	          only counts within the session, so the session of the child gets it too.
//
// It may import the standard library only.
package background
