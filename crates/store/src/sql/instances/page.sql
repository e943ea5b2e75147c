-- Lists a tenant's instances, the newest first, each with how many queued runs wait for it because their
-- memory lies there.
-- $1 tenant, $2 the id before which to begin, $3 limit
select i.id, i.name, i.last_seen_at, (
    select count(*)
    from agent_runs r
    join agent_definitions s on s.tenant_id = r.tenant_id and s.id = r.seat_id
    where r.status = 'queued' and s.tenant_id = i.tenant_id and s.instance_id = i.id
) as waiting
from instances i
where i.tenant_id = $1 and i.id < $2 and i.state <> 'gone'
order by i.id desc
limit $3
