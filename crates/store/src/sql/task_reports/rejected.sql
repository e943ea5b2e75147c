-- Lists the verdicts that sent back tasks which have failed, the newest first.
-- $1 session, $2 status of the verdicts, $3 status of the tasks, $4 limit
select t.key, p.body
from agent_tasks t
join task_reports p on p.task_id = t.id
where t.session_id = $1 and p.status = $2 and t.status = $3
order by p.updated_at desc, p.input_id desc
limit $4
