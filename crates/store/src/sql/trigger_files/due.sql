-- Lists runs of one instance whose files are due: queued ones, and delivered ones whose file has to be looked for again.
-- An index has the untaken files in their order, and only the first ones are read. People come first, then the oldest input.
-- $1 now, $2 limit, $3 instance
with queued (id) as (
    select r.id
    from instances i
    cross join agent_runs r
    left join trigger_files f on f.run_id = r.id
    where i.id = $3 and i.kind = 'directory' and i.state <> 'gone'
      and r.tenant_id = i.tenant_id and r.instance_id = i.id and r.status = 'queued'
      and (f.run_id is null or f.next_attempt_at <= $1)
    order by r.priority, r.input_at, r.id
    limit $2
),
delivered (id) as (
    select r.id
    from trigger_files f
    cross join agent_runs r
    where f.instance_id = $3 and f.taken_attempt <> f.attempt and f.next_attempt_at <= $1
      and r.id = f.run_id and r.instance_id = $3 and r.status = 'delivered' and r.worker_id = 'trigger-file'
    order by f.next_attempt_at
    limit $2
),
waiting (id) as (
    select id from queued
    union all
    select id from delivered
)
select r.id, r.tenant_id, r.instance_id, r.origin, r.content, r.input_at, r.scheduled_for, r.automation_id,
    a.name as automation_name, a.session_mode, i.config
from waiting w
join agent_runs r on r.id = w.id
join instances i on i.tenant_id = r.tenant_id and i.id = r.instance_id and i.state <> 'gone'
left join automations a on a.id = r.automation_id
order by r.priority, r.input_at, r.id
limit $2
