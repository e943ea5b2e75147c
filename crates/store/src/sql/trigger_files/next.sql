-- Returns, for each instance, the instant at which its next file is due. A file without an attempt is due since its run
-- was created.
with waiting (id, instance_id, created_at) as (
    select r.id, r.instance_id, r.created_at
    from instances i
    join agent_runs r on r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
    where i.kind = 'directory' and i.state <> 'gone'
    union all
    select r.id, r.instance_id, r.created_at
    from agent_runs r
    join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id and i.state <> 'gone'
    where r.status in ('queued', 'delivered', 'running') and r.status = 'delivered' and r.worker_id = 'trigger-file'
)
select w.instance_id, min(coalesce(f.next_attempt_at, w.created_at)) as at
from waiting w
left join trigger_files f on f.run_id = w.id
group by w.instance_id
