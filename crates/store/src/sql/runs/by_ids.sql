-- Reads the columns of runs that transitions need, without the results of ended runs.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, content, not_before, worker_id, started_at, cancel_requested_at, reason, message, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where id in (select id from item)
