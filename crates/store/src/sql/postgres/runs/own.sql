-- Reads runs that are workers' and under way, and locks them, by id, against their ends.
-- Each row: $1 id, $2 worker
with item (id, worker_id) as (values ($1, $2))
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, missed_until, occurrences, exclusive, content, not_before, worker_id, started_at, ended_at, cancel_requested_at, cancel_reason, reason, message, stop_reason, flags, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where (id, worker_id) in (select id, worker_id from item) and status = 'running'
order by id
for update
