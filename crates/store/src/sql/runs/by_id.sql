-- Reads one run.
-- $1 tenant or null, $2 id
select /* columns */ *, content
from agent_runs
where id = $2 and ($1 is null or tenant_id = $1)
