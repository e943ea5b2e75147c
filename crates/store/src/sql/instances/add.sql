-- Inserts an instance with a folder. Returns no row if the name or the folder is in use.
-- $1 tenant, $2 id, $3 name, $4 configuration, $5 now, $6 the normalized path of the folder
insert into instances (tenant_id, id, name, kind, state, config, created_at, folder_key)
values ($1, $2, $3, 'directory', 'offline', $4, $5, $6)
on conflict do nothing
returning id
