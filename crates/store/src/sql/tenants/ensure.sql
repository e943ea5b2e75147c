-- Makes a tenant unless one of that name is there.
-- $1 id, $2 name, $3 now
insert into tenants (id, name, created_at) values ($1, $2, $3)
on conflict (name) do nothing
