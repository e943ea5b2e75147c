-- Lists the newest runs of a task.
-- $1 session, $2 task, $3 limit
select r.id, r.status, r.task_prompt, r.started_at, r.ended_at, d.name as seat
from agent_runs r
join agent_definitions d on d.id = r.seat_id
where r.session_id = $1 and r.task_id = $2
order by r.id desc
limit $3
