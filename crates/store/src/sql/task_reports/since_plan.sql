-- Lists the results that agents have reported since the last plan that was published, the newest first. A report of a turn
-- that failed does not count.
-- $1 session, $2 limit
select p.body
from agent_tasks t
join task_reports p on p.task_id = t.id
where t.session_id = $1 and p.kind = 'result'
  and p.updated_at >= coalesce(
      (select max(l.ended_at) from agent_tasks l where l.session_id = $1 and l.kind = 'plan' and l.status = 'DONE'),
      t.created_at
  )
  and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
order by p.updated_at desc, p.input_id desc
limit $2
