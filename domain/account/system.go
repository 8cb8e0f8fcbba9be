package account

// SystemID is the account of the service itself. It owns resources for everyone, such as
// the demo videos. It has no keys and no credits, and it is never billed.
const SystemID = "acct_00000000000000000000SYSTEM"
