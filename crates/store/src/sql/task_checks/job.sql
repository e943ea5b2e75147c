-- Reads the checks of a task with the commands of its team.
-- $1 task
select t.key, t.tenant_id, t.checks, g.team, g.format, g.needs_format
from agent_tasks t
join goals g on g.session_id = t.session_id
where t.id = $1
