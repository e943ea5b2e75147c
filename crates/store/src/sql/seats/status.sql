-- Returns the status of seats. `is_occupied` is true if a run holds the seat. `has_waiting_run` is true if a run waits
-- for the seat; a run in its backoff does not count. `state` is the state of the seat's session.
-- Each row: $1 seat. $2 now
with item (id) as (values /* row */ ($1))
select
    d.id,
    exists (
        select 1 from agent_runs
        where seat_id = d.id and status in ('queued', 'delivered', 'running')
    ) as is_occupied,
    exists (
        select 1 from agent_runs
        where seat_id = d.id and status = 'deferred' and (not_before is null or not_before <= $2)
    ) as has_waiting_run,
    s.state as state
from agent_definitions d
join agent_sessions s on s.id = d.session_id
where d.id in (select id from item)
