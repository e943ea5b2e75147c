-- Lists the runs of a session's tasks that are not over. `is_waiting` is true if no worker has the run.
-- $1 session
select id, seat_id, attempt, status,
    case when status = 'delivered' then worker_id = 'trigger-file' else status <> 'running' end as is_waiting
from agent_runs
where session_id = $1 and task_id is not null and status in ('queued', 'deferred', 'delivered', 'running')
order by id
