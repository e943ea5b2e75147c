-- Says when the oldest run of a session was made that is not over. In two parts, since what holds a seat
-- and what waits for one are found by an index each.
-- $1 session
select min(r.created_at) as at
from (
    select a.created_at
    from agent_definitions d
    join agent_runs a on a.seat_id = d.id and a.status in ('queued', 'delivered', 'running')
    where d.session_id = $1
    union all
    select w.created_at
    from agent_definitions d
    join agent_runs w on w.seat_id = d.id and w.status = 'deferred'
    where d.session_id = $1
) r
