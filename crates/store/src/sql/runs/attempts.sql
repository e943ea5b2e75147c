-- Lists the attempts at one input, the first one first.
-- $1 tenant or null, $2 input
select /* columns */ *, content
from agent_runs
where input_id = $2 and ($1 is null or tenant_id = $1)
order by attempt
