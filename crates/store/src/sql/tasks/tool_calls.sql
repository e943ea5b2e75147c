-- Counts the tool calls of the turns that have worked on a task, without the calls that report its result.
-- $1 task
select count(*) as calls
from agent_runs r
join agent_messages m on m.run_id = r.id
where r.task_id = $1 and not r.task_review and m.kind = 'tool_call'
  and m.content not like '%update_task%'
