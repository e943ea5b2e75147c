-- Reads the newest answer of a successful turn that wrote the report of a goal.
-- $1 session
select m.content
from agent_tasks t
join agent_runs r on r.session_id = t.session_id and r.task_id = t.id
join agent_messages m on m.run_id = r.id
where t.session_id = $1 and t.kind = 'report' and r.status = 'succeeded' and m.role = 'assistant' and m.kind = 'message'
order by m.seq desc
limit 1
