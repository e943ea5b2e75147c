-- Reads the dependencies between the tasks of a goal, by their numbers.
-- $1 session
select t.number as task, d.number as depends_on
from agent_tasks t
join task_dependencies x on x.task_id = t.id
join agent_tasks d on d.id = x.depends_on_id
where t.session_id = $1
order by t.number, d.number
