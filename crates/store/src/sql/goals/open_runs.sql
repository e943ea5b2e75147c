-- Lists the runs of a session that no worker has and that are not over.
-- $1 session
select id, seat_id, attempt, status
from agent_runs
where session_id = $1 and (status in ('queued', 'deferred') or status = 'delivered' and worker_id = 'trigger-file')
order by id
