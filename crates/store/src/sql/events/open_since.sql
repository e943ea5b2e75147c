-- Says when the oldest run of a session was made that is not over.
-- $1 session
select min(r.created_at) as at
from agent_definitions d
join agent_runs r on r.seat_id = d.id
where d.session_id = $1
  and r.status in ('queued', 'deferred', 'delivered', 'running')
