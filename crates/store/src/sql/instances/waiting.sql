-- Lists the instances, each with how many queued runs wait for it because their memory lies there.
-- $1 tenant or null
select i.id, i.name, i.last_seen_at, coalesce(w.runs, 0) as waiting
from instances i
left join (
    select s.tenant_id, s.instance_id, count(*) as runs
    from agent_runs r
    join agent_definitions s on s.tenant_id = r.tenant_id and s.id = r.seat_id
    where r.status = 'queued'
    group by s.tenant_id, s.instance_id
) w on w.tenant_id = i.tenant_id and w.instance_id = i.id
where ($1 is null or i.tenant_id = $1) and i.state <> 'gone'
order by i.name, i.id
