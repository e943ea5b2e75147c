-- Finds, for each automation, the seat on which its next waiting exclusive run could start now. Returns no seat while
-- another exclusive run of the automation holds one. The longer list of statuses is redundant, but lets SQLite use
-- the index of open runs.
-- Each row: $1 automation. $2 now
with item (id) as (values /* row */ ($1))
select (
    select r.seat_id
    from agent_runs r
    join agent_sessions s on s.id = r.session_id and s.state = 'active'
    where r.automation_id = item.id and r.status = 'deferred' and r.exclusive
      and r.status in ('queued', 'deferred', 'delivered', 'running')
      and (r.not_before is null or r.not_before <= $2)
      and not exists (
          select 1 from agent_runs a
          where a.seat_id = r.seat_id and a.status in ('queued', 'delivered', 'running')
      )
    order by r.priority, r.input_at, r.scheduled_for, r.id
    limit 1
) as seat_id
from item
where not exists (
    select 1 from agent_runs a
    where a.automation_id = item.id and a.exclusive
      and a.status in ('queued', 'delivered', 'running')
)
