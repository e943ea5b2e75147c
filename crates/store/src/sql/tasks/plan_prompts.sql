-- Lists the prompts of the turns of plans that are complete.
-- $1 session
select r.content
from agent_tasks t
join agent_runs r on r.session_id = t.session_id and r.task_id = t.id
where t.session_id = $1 and t.kind = 'plan' and t.status = 'DONE'
