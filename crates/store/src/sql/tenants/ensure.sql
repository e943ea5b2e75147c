-- Inserts a tenant unless one with its name exists.
-- $1 id, $2 name, $3 now
insert into tenants (id, name, created_at) values ($1, $2, $3)
on conflict (name) do nothing
