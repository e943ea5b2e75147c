-- Lists a tenant's instances, the newest first, with who serves them and how many queued runs wait for each
-- because their memory lies there.
-- $1 tenant, $2 the id before which to begin, $3 limit
select i.id, i.name, i.state, i.last_seen_at, v.worker_id, v.version, v.format, v.seen_at, v.stopped_at, (
    select count(*)
    from agent_runs r
    where r.status = 'queued' and r.tenant_id = i.tenant_id and r.instance_id = i.id
) as waiting, (
    select count(*)
    from automations a
    where a.tenant_id = i.tenant_id and a.deleted_at is null and a.needs_format > 1 and a.needs_format > v.format
) as too_new
from instances i
left join servers v on v.instance_id = i.id
where i.tenant_id = $1 and i.id < $2 and i.state <> 'gone'
order by i.id desc
limit $3
