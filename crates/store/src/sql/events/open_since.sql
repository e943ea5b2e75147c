-- Returns the creation time of a session's oldest unfinished run. One index finds the runs that hold a seat and
-- another one those that wait for a seat, so that finished runs cost nothing.
-- $1 tenant, $2 session
select min(found.at) as at
from (
    select (
        select min(a.created_at) from agent_runs a
        where a.seat_id = d.id and a.status in ('queued', 'delivered', 'running')
    ) as at
    from agent_definitions d
    where d.tenant_id = $1 and d.session_id = $2
    union all
    select (
        select min(w.created_at) from agent_runs w where w.seat_id = d.id and w.status = 'deferred'
    ) as at
    from agent_definitions d
    where d.tenant_id = $1 and d.session_id = $2
) found
