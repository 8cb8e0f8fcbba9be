package incident

// Command is a request to change an incident.
type Command interface{ isCommand() }

// Open begins an incident.
type Open struct {
	ID string
	// Title says in 1 to 200 characters what is wrong.
	Title string
	// Node is the process that noticed it by itself; empty when an operator did.
	Node string
}

// Close ends an incident.
type Close struct{}

func (Open) isCommand()  {}
func (Close) isCommand() {}
