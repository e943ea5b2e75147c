-- Returns the task of a goal whose turn a run is.
-- $1 run
select t.key, t.kind, r.task_review
from agent_runs r
join agent_tasks t on t.tenant_id = r.tenant_id and t.session_id = r.session_id and t.id = r.task_id
where r.id = $1
