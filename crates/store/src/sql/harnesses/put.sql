-- Makes a harness, or gives the one of that name a new configuration.
-- $1 id, $2 tenant, $3 name, $4 configuration, $5 now
insert into harnesses (id, tenant_id, name, config, created_at, updated_at)
values ($1, $2, $3, $4, $5, $5)
on conflict (tenant_id, name) do update
set config = excluded.config, updated_at = excluded.updated_at
returning id, name, config
