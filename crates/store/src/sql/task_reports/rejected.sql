-- Lists the newest verdict of each task that has failed among those that sent it back, the newest first.
-- $1 session, $2 status of the verdicts, $3 status of the tasks, $4 limit
select t.key, p.body
from agent_tasks t
join task_reports p on p.task_id = t.id
where t.session_id = $1 and p.status = $2 and t.status = $3 and not exists (
    select 1 from task_reports n
    where n.task_id = p.task_id and n.status = $2
      and (n.updated_at > p.updated_at or n.updated_at = p.updated_at and n.input_id > p.input_id)
)
order by p.updated_at desc, p.input_id desc
limit $4
