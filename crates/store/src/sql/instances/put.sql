-- Registers an instance, or records its use. A removed instance stays removed until a server serves it.
-- $1 tenant, $2 id, $3 name, $4 kind, $5 now
insert into instances (tenant_id, id, name, kind, state, config, last_seen_at, created_at)
values ($1, $2, $3, $4, 'online', '{}', $5, $5)
on conflict (tenant_id, id) do update
set name = excluded.name, last_seen_at = excluded.last_seen_at
