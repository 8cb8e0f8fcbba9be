package migrations

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The migrations also make what a dump lacks when another owner restores it: the roles belong to the server,
// and default privileges to their owner.
const (
	roles = `
do $$
declare
    r text;
begin
    foreach r in array array['vqa_service', 'vqa_auditor'] loop
        if not exists (select from pg_roles where rolname = r) then
            execute format('create role %I nologin', r);
        end if;
        if not pg_has_role(current_user, r, 'member') then
            execute format('grant %I to %I', r, current_user);
        end if;
    end loop;
end
$$`
	defaults = `
alter default privileges grant select, insert, update, delete on tables to vqa_service;
alter default privileges grant usage, select on sequences to vqa_service;
alter default privileges grant select on tables to vqa_auditor;
alter default privileges grant select on sequences to vqa_auditor`
)

// ErrNotEmpty says that a database already has the tables of the service.
var ErrNotEmpty = errors.New("the database already has the tables of a service: restore into a new one")

// Restore calls load to load a dump into an empty database. The user of url becomes the owner of the schema,
// and must be allowed to create roles, unless they exist. Error: ErrNotEmpty.
func Restore(ctx context.Context, url string, load func() error) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var used bool
	if err := conn.QueryRow(ctx, "select to_regclass('public.events') is not null").Scan(&used); err != nil {
		return fmt.Errorf("look for tables in the database: %w", err)
	}
	if used {
		return ErrNotEmpty
	}
	if _, err := conn.Exec(ctx, roles); err != nil {
		return fmt.Errorf("create the roles of the service: %w", err)
	}
	if err := load(); err != nil {
		return err
	}
	// Afterwards: the tables of the dump would get the rights, too.
	if _, err := conn.Exec(ctx, defaults); err != nil {
		return fmt.Errorf("set the default privileges: %w", err)
	}
	return nil
}
