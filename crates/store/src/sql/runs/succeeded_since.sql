-- Returns the runs after which their automation, or the conversation of a person, has succeeded. The runs are read first,
-- because PostgreSQL could otherwise look for the success of each run of the tenant.
-- Each row: $1 run. $2 tenant
with item (run_id) as (values /* row */ ($1)),
failure as materialized (
    select f.id, f.automation_id, f.session_id
    from item
    cross join agent_runs f
    where f.id = item.run_id and f.tenant_id = $2
)
select id
from failure
where exists (
    select 1
    from agent_runs r
    where r.automation_id = failure.automation_id and r.id > failure.id and r.tenant_id = $2 and r.status = 'succeeded'
) or (automation_id is null and exists (
    select 1
    from agent_runs r
    where r.session_id = failure.session_id and r.automation_id is null and r.id > failure.id and r.tenant_id = $2
      and r.status = 'succeeded'
))
