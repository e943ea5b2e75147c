-- Returns which automations and conversations have succeeded after a run of theirs.
-- Each row: $1 position, $2 automation or null, $3 session of a conversation or null, $4 run. $5 tenant
with item (position, automation_id, session_id, run_id) as (values /* row */ ($1, $2, $3, $4))
select position
from item
where exists (
    select 1
    from agent_runs r
    where r.automation_id = item.automation_id and r.id > item.run_id and r.tenant_id = $5 and r.status = 'succeeded'
) or exists (
    select 1
    from agent_runs r
    where r.session_id = item.session_id and r.automation_id is null and r.id > item.run_id and r.tenant_id = $5
      and r.status = 'succeeded'
)
