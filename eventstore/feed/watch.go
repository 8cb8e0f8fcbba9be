package feed

// Watch returns a channel that receives after any process has committed events, and a function that
// ends the watch. Simultaneous notifications become one. A notification may be lost while the
// connection is down, so a watcher must also poll from time to time.
func (f *Feed) Watch() (wake <-chan struct{}, stop func()) {
	w := f.addWaker()
	return w, func() { f.removeWaker(w) }
}
