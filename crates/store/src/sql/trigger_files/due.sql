-- Lists runs of one instance whose files are due: queued ones, and delivered ones whose file has to be looked for again.
-- People come first, then the oldest input. `status` twice, because the index of active runs has that condition.
-- $1 now, $2 limit, $3 instance
with waiting (id) as (
    select r.id
    from instances i
    join agent_runs r on r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
    where i.id = $3 and i.kind = 'directory' and i.state <> 'gone'
    union all
    select r.id
    from agent_runs r
    where r.status in ('queued', 'delivered', 'running') and r.status = 'delivered' and r.worker_id = 'trigger-file'
      and r.instance_id = $3
)
select r.id, r.tenant_id, r.instance_id, r.origin, r.content, r.input_at, r.scheduled_for, r.automation_id,
    a.name as automation_name, a.session_mode, i.config
from waiting w
join agent_runs r on r.id = w.id
join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id and i.state <> 'gone'
left join automations a on a.id = r.automation_id
left join trigger_files f on f.run_id = r.id
where f.run_id is null or f.next_attempt_at <= $1
order by r.priority, r.input_at, r.id
limit $2
