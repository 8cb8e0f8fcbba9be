package jobs

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/objects"
)

// class is the cause of a failed attempt. It decides what follows.
type class string

const (
	// classInput means that the video or the question is the cause. The work fails.
	classInput class = "input"
	// classBug means that the cause is unknown. The attempt counts as lost.
	classBug class = "bug"

	// The others are parts of the infrastructure. The work pauses, and the attempt does not
	// count.
	classDatabase class = "database"
	classObjects  class = "object store"
	classDisk     class = "disk"
	classEngine   class = "engine"
	// classCapacity means that a part works and has no room at the moment.
	classCapacity class = "capacity"
)

// infrastructure reports whether the work must pause until a part works again.
func (c class) infrastructure() bool { return c != classInput && c != classBug }

// classify returns the cause of an error. The order matters: an error of a drawing may wrap
// that of the disk.
func classify(err error) class {
	switch {
	case is[*gpu.UnavailableError](err), fault.Has(err, fault.InferenceUnavailable):
		return classEngine
	case diskFull(err):
		return classDisk
	case is[*objects.UnavailableError](err), errors.Is(err, frames.ErrUnreachable):
		return classObjects
	case is[*gpu.InferenceError](err), is[*tooLongError](err), is[*inputError](err), is[*drawError](err), is[*visionError](err):
		return classInput
	case fault.Has(err, fault.CapacityExhausted):
		return classCapacity
	case fault.Of(err) != nil && !fault.Has(err, fault.DBUnavailable):
		return classInput // its cause may be a connection to the caller's server
	case databaseLost(err):
		return classDatabase
	default:
		return classBug
	}
}

func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

// diskFull also recognizes the message of ffmpeg, which reports a full disk only as text.
func diskFull(err error) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, full) {
			return true
		}
	}
	return err != nil && strings.Contains(err.Error(), "No space left on device")
}

// sqlUnavailable lists the SQLSTATE classes and codes of a server that cannot do its work:
// connection exception, insufficient resources, operator intervention, system error, rolled
// back by another transaction, lock not available, read-only, missing rights.
var sqlUnavailable = []string{"08", "53", "57", "58", "40", "55P03", "25006", "42501"}

// databaseLost does not depend on the driver. It is asked last, because other parts fail with
// errors of the network too.
func databaseLost(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		for _, prefix := range sqlUnavailable {
			if strings.HasPrefix(state.SQLState(), prefix) {
				return true
			}
		}
		return false
	}
	var unsent interface{ SafeToRetry() bool }
	return fault.Has(err, fault.DBUnavailable) || errors.Is(err, eventstore.ErrUnknownEvent) || is[net.Error](err) || is[*eventstore.ConflictError](err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &unsent) && unsent.SafeToRetry()
}
