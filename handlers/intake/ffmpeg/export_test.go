package ffmpeg

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }
