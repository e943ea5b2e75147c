-- Reads the texts of a task.
-- $1 tenant or null, $2 id
select session_id, description, acceptance, writes, checks
from agent_tasks
where id = $2 and ($1 is null or tenant_id = $1)
