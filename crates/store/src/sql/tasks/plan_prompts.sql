-- Lists the prompts of plans that are complete, and of one that is about to be, each once. Retries of a turn repeat its prompt, and
-- those of answers and reminders have words of the planner. The newest is the last.
-- $1 session, $2 task of the plan that is about to be complete, or null
select r.content
from agent_tasks t
join agent_runs r on r.session_id = t.session_id and r.task_id = t.id
where t.session_id = $1 and t.kind = 'plan' and (t.status = 'DONE' or t.id = $2)
  and r.attempt = 1 and r.task_prompt in ('plan', 'replan')
order by t.number, r.id
