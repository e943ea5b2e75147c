-- Finds an artifact that an attempt at an input has saved.
-- $1 input
select a.id
from agent_runs r
join agent_artifacts a on a.run_id = r.id
where r.input_id = $1
limit 1
