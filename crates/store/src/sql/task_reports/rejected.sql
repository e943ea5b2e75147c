-- Lists the newest verdict of each task that has failed among those that sent it back, the newest first. A verdict of a turn that
-- has not succeeded counts as none.
-- $1 session, $2 status of the verdicts, $3 status of the tasks, $4 limit
select key, body
from (
    select t.key, p.body, p.updated_at, p.input_id,
        row_number() over (partition by p.task_id order by p.updated_at desc, p.input_id desc) as place
    from agent_tasks t
    join task_reports p on p.task_id = t.id
    where t.session_id = $1 and p.status = $2 and t.status = $3
      and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
) verdicts
where place = 1
order by updated_at desc, input_id desc
limit $4
