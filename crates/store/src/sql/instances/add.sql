-- Inserts an instance with a folder. Returns no row if the name is in use.
-- $1 tenant, $2 id, $3 name, $4 kind, $5 configuration, $6 now
insert into instances (tenant_id, id, name, kind, state, config, created_at)
values ($1, $2, $3, $4, 'offline', $5, $6)
on conflict (tenant_id, name) where state <> 'gone' do nothing
returning id
