-- Reads the numbers of the tasks on which a task depends.
-- $1 task
select d.number as depends_on
from task_dependencies x
join agent_tasks d on d.id = x.depends_on_id
where x.task_id = $1
