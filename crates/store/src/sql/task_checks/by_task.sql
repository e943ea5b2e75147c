-- Reads the last checks of a task.
-- $1 tenant or null, $2 task
select status, attempt, evidence
from task_checks
where ($1 is null or tenant_id = $1) and task_id = $2
