-- Lists the runs of a session that are not over, ordered by ID. `is_unclaimed` is true if a run holds its seat and no
-- worker has it: it is queued, or its trigger file waits on an instance.
-- $1 session
select id, automation_id, status,
    case when status = 'delivered' and worker_id = 'trigger-file' then true else status = 'queued' end as is_unclaimed
from agent_runs
where session_id = $1 and status in ('queued', 'deferred', 'delivered', 'running')
order by id
