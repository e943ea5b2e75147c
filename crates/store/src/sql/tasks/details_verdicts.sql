-- Lists the verdicts about the tasks of a goal, the oldest first.
-- $1 session
select r.task_id, r.status, r.body
from agent_tasks t
join task_reports r on r.task_id = t.id
where t.session_id = $1 and r.kind = 'verdict'
order by r.updated_at, r.input_id
