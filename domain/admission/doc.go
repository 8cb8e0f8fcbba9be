// Package admission decides which creates a node takes on while more arrive than it can record.
//
// A node that accepts everything answers nothing in time: requests wait for the processor, for
// connections and for the lanes, and each of them makes the others slower. The Gate bounds the
// creates in service instead, lets a few wait in a line, and refuses the others at once. So the
// accepted creates are quick, reads find a free processor, and the node keeps its throughput.
//
// The bound follows from Little's law: creates in service = rate × time in service. The Gate
// measures the mean time in service of each interval, and scales the bound by target/mean. So the
// mean stays near the target, at the rate that the node reaches at that moment. The bound grows only while creates wait: an idle node says nothing about its capacity.
//
// The line absorbs bursts, and is limited by the time that it takes to drain. A line that has not
// been empty for a whole interval is not a burst but overload, and may only be short. This is the
// rule of CoDel (RFC 8289): a standing delay makes every create slow, and the node serves as many as without it.
//
// Retry-After uses the same rate. The Gate books each refused client into the first whole second
// at which its period of time has a place. So the clients of one burst come back spread over the
// periods that can serve them. Under lasting overload, new clients take places too, and no time is
// certain.
//
// It is pure, and imports the standard library only. A Gate is not safe for concurrent use.
package admission
