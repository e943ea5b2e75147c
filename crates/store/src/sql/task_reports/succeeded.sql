-- Lists the results that agents have reported in turns that succeeded, the newest first. Numbers those of
-- each task from 1.
-- $1 session, $2 limit
select t.key, p.body, row_number() over (partition by p.task_id order by p.updated_at, p.input_id) as result_number
from agent_tasks t
join task_reports p on p.task_id = t.id
where t.session_id = $1 and p.kind = 'result'
  and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
order by p.updated_at desc, p.input_id desc
limit $2
