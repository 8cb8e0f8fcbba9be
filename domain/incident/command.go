package incident

// Command is a request to change an incident.
type Command interface{ isCommand() }

// Open begins an incident.
type Open struct {
	ID string
	// Title describes the fault of the service in 1 to 200 characters.
	Title string
	// Node is the process that opened the incident; empty when an operator did.
	Node string
}

// Close ends an incident.
type Close struct{}

func (Open) isCommand()  {}
func (Close) isCommand() {}
