-- Lists the instances with their servers, and with the number of queued runs that each alone may take, because they are
-- placed there or the memory of their agents is in its data folder, and of runs whose trigger files wait there.
-- $1 tenant or null
with waiting (tenant_id, instance_id, runs) as materialized (
    select tenant_id, instance_id, count(*)
    from agent_runs
    where status in ('queued', 'delivered', 'running') and status = 'delivered' and worker_id = 'trigger-file'
      and ($1 is null or tenant_id = $1)
    group by tenant_id, instance_id
),
-- Few automations need a later format than the first. Read once, they are not looked for among all of them for each instance.
needing (tenant_id, format) as materialized (
    select tenant_id, needs_format
    from automations
    where needs_format > 1 and deleted_at is null
)
select i.id, i.name, i.kind, i.config, i.state, i.last_seen_at, v.worker_id, v.version, v.format,
    case when v.zone_rules_worker = v.worker_id then v.zone_rules end as zone_rules, v.seen_at, v.stopped_at, (
    select count(*)
    from agent_runs r
    where r.status = 'queued' and r.tenant_id = i.tenant_id and r.instance_id = i.id
) as queued_runs, coalesce(w.runs, 0) as delivered_runs, (
    select count(*)
    from needing a
    where a.tenant_id = i.tenant_id and a.format > v.format
) as unsupported_automations
from instances i
left join servers v on v.instance_id = i.id
left join waiting w on w.tenant_id = i.tenant_id and w.instance_id = i.id
where ($1 is null or i.tenant_id = $1) and i.state <> 'gone'
order by i.name, i.id
