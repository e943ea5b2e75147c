-- Lists the verdicts about the tasks of a goal, the oldest first. A verdict of a turn that has not succeeded counts as none.
-- $1 session
select p.task_id, p.status, p.body
from agent_tasks t
join task_reports p on p.task_id = t.id
where t.session_id = $1 and p.kind = 'verdict'
  and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
order by p.updated_at, p.input_id
