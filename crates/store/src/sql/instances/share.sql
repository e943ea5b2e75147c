-- Registers an instance for tenants that have not used it so far, with the data that another tenant has of it.
-- Each row: $1 tenant. $2 instance, $3 now
with item (tenant_id) as (values /* row */ ($1))
insert into instances (tenant_id, id, name, kind, state, config, last_seen_at, created_at)
select item.tenant_id, registered.id, registered.name, registered.kind, 'online', registered.config, $3, $3
from item
cross join (select id, name, kind, config from instances where id = $2 order by created_at, tenant_id limit 1) registered
where true
on conflict (tenant_id, id) do nothing
