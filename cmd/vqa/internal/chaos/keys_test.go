package chaos_test

import (
	"context"
	"net/http"
)

// changeKey creates a key, uses it, rotates it, and revokes it. A key that was revoked opens nothing.
func (c *customer) changeKey(ctx context.Context) error {
	made, err := c.send(ctx, http.MethodPost, "/v1/api-keys", map[string]any{"name": c.name("key")}, c.name("key"))
	if err != nil || !c.expects("create a key", made, http.StatusCreated) {
		return err
	}
	c.keys[made.text("id")] = "active"
	if err := c.opens(ctx, made, http.StatusOK); err != nil {
		return err
	}
	rotated, err := c.send(ctx, http.MethodPost, "/v1/api-keys/"+made.text("id")+"/rotate", map[string]any{"revoke_old": true}, c.name("rotate"))
	if err != nil || !c.expects("rotate a key", rotated, http.StatusCreated) {
		return err
	}
	c.keys[made.text("id")], c.keys[rotated.text("id")] = "revoked", "active"
	c.revoked = append(c.revoked, made.text("api_key"))
	if err := c.opens(ctx, made, http.StatusUnauthorized); err != nil {
		return err
	}
	if err := c.opens(ctx, rotated, http.StatusOK); err != nil {
		return err
	}
	revoked, err := c.send(ctx, http.MethodDelete, "/v1/api-keys/"+rotated.text("id"), nil, "")
	if err != nil || !c.expects("revoke a key", revoked, http.StatusOK) {
		return err
	}
	c.keys[rotated.text("id")] = "revoked"
	c.revoked = append(c.revoked, rotated.text("api_key"))
	return c.opens(ctx, rotated, http.StatusUnauthorized)
}

// opens uses a key and expects the status.
func (c *customer) opens(ctx context.Context, issued response, status int) error {
	got, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/credits?limit=1", key: issued.text("api_key")})
	if err == nil {
		c.expects("use key "+issued.text("id"), got, status)
	}
	return err
}

// replaceKey rotates the key that the customer uses. The old one keeps working for a day.
func (c *customer) replaceKey(ctx context.Context) error {
	rotated, err := c.send(ctx, http.MethodPost, "/v1/api-keys/"+c.keyID+"/rotate", map[string]any{}, c.name("replace"))
	if err != nil || !c.expects("rotate the key in use", rotated, http.StatusCreated) {
		return err
	}
	c.keys[rotated.text("id")] = "active"
	c.keyID, c.key = rotated.text("id"), rotated.text("api_key")
	return nil
}
