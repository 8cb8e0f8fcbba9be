package feed

// Watch returns a channel that receives after events were committed, by whatever
// process, and a function that ends the watch. Wake-ups that come together are one,
// and one may be missed while the connection is down: a watcher looks again by itself
// now and then.
func (f *Feed) Watch() (wake <-chan struct{}, stop func()) {
	w := f.addWaker()
	return w, func() { f.removeWaker(w) }
}
