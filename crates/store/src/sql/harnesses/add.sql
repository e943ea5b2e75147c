-- Makes a harness unless one of that name is there: a person's changes to it stay.
-- $1 id, $2 tenant, $3 name, $4 configuration, $5 now, $6 format, $7 format that it needs
insert into harnesses (id, tenant_id, name, config, created_at, updated_at, format, needs_format)
values ($1, $2, $3, $4, $5, $5, $6, $7)
on conflict (tenant_id, name) do nothing
