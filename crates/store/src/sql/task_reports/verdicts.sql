-- Reads the newest verdicts on a task. A verdict of a turn that has not succeeded counts as none.
-- $1 task, $2 limit
select p.status, p.body
from task_reports p
where p.task_id = $1 and p.kind = 'verdict'
  and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
order by p.updated_at desc, p.input_id desc
limit $2
