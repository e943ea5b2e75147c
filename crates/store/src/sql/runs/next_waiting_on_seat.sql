-- Finds the next waiting run of each seat. Messages of people come before occurrences, and these before messages of
-- agents, then the oldest input comes first, and instants that were caught up at once keep their order. Returns no run
-- for a seat that a run holds or whose session is not active, and no turn of a task whose goal a person has paused.
-- Each row: $1 seat. $2 now
with item (id) as (values /* row */ ($1)),
-- A part of its own. Otherwise PostgreSQL reads all runs and compares each one with the result.
chosen (id) as materialized (
    select (
        select r.id
        from agent_runs r
        join agent_sessions s on s.id = r.session_id and s.state = 'active'
        where r.seat_id = item.id and r.status = 'deferred'
          and (r.not_before is null or r.not_before <= $2)
          and (r.task_id is null or not exists (
              select 1 from goals g where g.session_id = r.session_id and g.state = 'paused' and g.reason = 'person'
          ))
          and not (r.exclusive and exists (
              select 1 from agent_runs a
              where a.automation_id = r.automation_id and a.exclusive
                and a.status in ('queued', 'delivered', 'running')
          ))
        order by r.priority, r.input_at, r.scheduled_for, r.id
        limit 1
    )
    from item
    where not exists (
        select 1 from agent_runs a
        where a.seat_id = item.id and a.status in ('queued', 'delivered', 'running')
    )
)
select id, seat_id, session_id, automation_id, exclusive, not_before
from agent_runs
where id in (select id from chosen)
order by priority, input_at, scheduled_for, id
