-- Reads the end of the last turn that worked on a task, with the result of the task.
-- $1 task
select r.status, r.reason, r.message, t.result
from agent_runs r
join agent_tasks t on t.id = r.task_id
where r.task_id = $1 and not r.task_review and r.ended_at is not null
order by r.id desc
limit 1
