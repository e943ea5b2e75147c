-- Returns the file of a run.
-- $1 tenant or null, $2 run
select run_id, instance_id, named_at, written_at, writes, failures, error, next_attempt_at
from trigger_files
where ($1 is null or tenant_id = $1) and run_id = $2
