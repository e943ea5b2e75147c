-- Lists the results that agents have reported in turns that succeeded, the newest first.
-- $1 session, $2 limit
select p.body
from agent_tasks t
join task_reports p on p.task_id = t.id
where t.session_id = $1 and p.kind = 'result'
  and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
order by p.updated_at desc, p.input_id desc
limit $2
