-- Returns the runs after which their automation, or the conversation of a person, has succeeded.
-- Each row: $1 run. $2 tenant
with item (run_id) as (values /* row */ ($1))
select f.id
from item
cross join agent_runs f
where f.id = item.run_id and f.tenant_id = $2 and (exists (
    select 1
    from agent_runs r
    where r.automation_id = f.automation_id and r.id > f.id and r.tenant_id = $2 and r.status = 'succeeded'
) or (f.automation_id is null and exists (
    select 1
    from agent_runs r
    where r.session_id = f.session_id and r.automation_id is null and r.id > f.id and r.tenant_id = $2
      and r.status = 'succeeded'
)))
