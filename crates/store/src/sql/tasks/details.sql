-- Reads a task with its texts.
-- $1 tenant or null, $2 id
select session_id, number, role, title, description, acceptance, writes, checks, result, created_at, started_at, ended_at
from agent_tasks
where id = $2 and ($1 is null or tenant_id = $1)
