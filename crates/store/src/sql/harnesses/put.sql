-- Makes a harness, or gives the one of that name a new configuration.
-- $1 id, $2 tenant, $3 name, $4 configuration, $5 now, $6 format, $7 format that it needs
insert into harnesses (id, tenant_id, name, config, created_at, updated_at, format, needs_format)
values ($1, $2, $3, $4, $5, $5, $6, $7)
on conflict (tenant_id, name) do update
set config = excluded.config, updated_at = excluded.updated_at, format = excluded.format,
    needs_format = excluded.needs_format
returning id, name, config, format, needs_format
