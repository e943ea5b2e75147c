-- Lists the prompts of plans that are complete, each once. Retries of a turn repeat its prompt, and those of answers and reminders
-- have words of the planner.
-- $1 session
select r.content
from agent_tasks t
join agent_runs r on r.session_id = t.session_id and r.task_id = t.id
where t.session_id = $1 and t.kind = 'plan' and t.status = 'DONE'
  and r.attempt = 1 and r.task_prompt in ('plan', 'replan')
