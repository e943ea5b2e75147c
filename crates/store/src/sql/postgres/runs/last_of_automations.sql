-- Lists the newest runs of automations, the last attempt at each input, the newest of each automation first. No
-- attempt follows one that has succeeded.
-- Each row: $1 automation. $2 the maximum number of runs of each automation
with item (automation_id) as (values /* row */ ($1))
select r.automation_id, r.id, r.status, r.reason, r.message, r.occurrences, r.scheduled_for, r.input_at, r.started_at, r.ended_at
from item
cross join lateral (
    select x.*
    from agent_runs x
    where x.automation_id = item.automation_id and (x.status = 'succeeded' or not exists (
        select 1 from agent_runs later where later.input_id = x.input_id and later.attempt > x.attempt
    ))
    order by x.id desc
    limit $2
) r
order by r.automation_id, r.id desc
