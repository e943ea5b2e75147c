-- Lists the newest runs of a task. A run that succeeded has the verdict of its input, which all attempts share.
-- $1 session, $2 task, $3 limit
select r.id, r.status, r.task_prompt, r.started_at, r.ended_at, d.name as seat, p.status as verdict, p.body
from agent_runs r
join agent_definitions d on d.id = r.seat_id
left join task_reports p on p.input_id = r.input_id and p.kind = 'verdict' and r.status = 'succeeded'
where r.session_id = $1 and r.task_id = $2
order by r.id desc
limit $3
