package account

// SystemID is the account of the service itself. It owns what the service made for
// everyone, such as its demo videos, has no key and no credits, and is never billed.
const SystemID = "acct_00000000000000000000SYSTEM"
