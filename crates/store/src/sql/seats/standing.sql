-- Says whether a run holds the seat, whether one waits for it (attempts in their backoff left out),
-- and the state of its session.
-- $1 seat, $2 now
select
    exists (
        select 1 from agent_runs
        where seat_id = d.id and status in ('queued', 'delivered', 'running')
    ) as held,
    exists (
        select 1 from agent_runs
        where seat_id = d.id and status = 'deferred' and (not_before is null or not_before <= $2)
    ) as waited_for,
    s.state as state
from agent_definitions d
join agent_sessions s on s.id = d.session_id
where d.id = $1
