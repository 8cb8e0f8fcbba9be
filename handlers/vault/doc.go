// Package vault encrypts secrets that the service must read again, for the database. A
// secret that is only compared, such as an API key, is stored as a hash instead.
//
// A sealed secret names the key that encrypted it. So the key can be replaced: the vault
// encrypts with the newest key and decrypts with each key that it has. It is bound to its
// owner: a copy of it in the row of another endpoint cannot be decrypted.
//
// It may import domain/webhook and the standard library.
package vault
