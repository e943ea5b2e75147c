-- Lists the instances with who serves them and how many queued runs wait for each because their memory lies
-- there.
-- $1 tenant or null
select i.id, i.name, i.state, i.last_seen_at, v.worker_id, v.version, v.seen_at, v.stopped_at, (
    select count(*)
    from agent_runs r
    where r.status = 'queued' and r.tenant_id = i.tenant_id and r.instance_id = i.id
) as waiting
from instances i
left join servers v on v.instance_id = i.id
where ($1 is null or i.tenant_id = $1) and i.state <> 'gone'
order by i.name, i.id
