package projections_test

import (
	"context"
	"fmt"

	"vqa/handlers/command"
)

// signIn signs in one of a few people. They may have signed in before.
func (c *client) signIn(ctx context.Context) error {
	_, err := c.SignIn(ctx, command.Person{Issuer: "https://id.example", Subject: fmt.Sprint(c.name, c.rand.IntN(3))}, "req")
	return err
}

// visit opens a session of one of a few people, and lets them register a passkey or sign out.
func (c *client) visit(ctx context.Context) error {
	person := command.Person{Issuer: "https://id.example", Subject: fmt.Sprint(c.name, c.rand.IntN(3)), Proof: fmt.Sprint(c.name, c.steps)}
	opened, err := c.OpenPersonSession(ctx, person, command.Browser{Name: "test", RequestID: "req"})
	if err != nil {
		return err
	}
	caller := command.Caller{AccountID: opened.AccountID, Livemode: true, RequestID: "req"}
	if c.rand.IntN(2) == 0 {
		return c.RegisterPasskey(ctx, caller, command.NewPasskey{CredentialID: person.Proof, PublicKey: "key"})
	}
	return c.EndSession(ctx, caller, opened.ID)
}
