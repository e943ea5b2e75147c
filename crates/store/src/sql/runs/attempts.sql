-- Lists the attempts at one input, the first one first.
-- $1 tenant or null, $2 input
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, missed_until, occurrences, exclusive, content, not_before, worker_id, started_at, ended_at, cancel_requested_at, cancel_reason, reason, message, stop_reason, flags, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where input_id = $2 and ($1 is null or tenant_id = $1)
order by attempt
