-- Reads the newest answers to the questions of a task.
-- $1 task, $2 limit
select q.text, q.answer, q.answered_by
from agent_runs r
join questions q on q.run_id = r.id
where r.task_id = $1 and q.kind = 'tool' and q.state in ('answered', 'expired')
order by q.closed_at desc, q.id desc
limit $2
