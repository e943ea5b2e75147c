-- Finds the newest question with this text that a turn of a task has asked by the tool and a person has answered. Returns no row
-- for a turn of no task.
-- $1 task or null, $2 text
select q.id
from agent_runs r
join questions q on q.run_id = r.id
where r.task_id = $1 and q.text = $2 and q.kind = 'tool' and q.state = 'answered'
order by q.closed_at desc, q.id desc
limit 1
